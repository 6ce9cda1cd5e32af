// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Each visits the current value of each key with a prefix, in the database of a stopped store. It
// does not see changes that only the log has.
func Each(dir, prefix string, visit func(key string, value []byte) error) error {
	d, end, err := openDatabase(filepath.Join(dir, databaseName))
	if err != nil {
		return err
	}
	defer end()
	current := map[string][]byte{}
	err = d.walk(func(bucket string, revision, value []byte) error {
		var kv mvccpb.KeyValue
		if bucket != "key" {
			return nil
		}
		if err := kv.Unmarshal(value); err != nil {
			return fmt.Errorf("read the stored objects: %w", err)
		}
		name := string(kv.Key)
		switch deleted := len(revision) == 18; {
		case len(name) < len(prefix) || name[:len(prefix)] != prefix:
		case deleted:
			delete(current, name)
		default:
			current[name] = kv.Value
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, value := range current {
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}
