// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
)

// checkDatabase reads the whole database and returns the index of the last change in it. plausible
// is as in Expect.
func checkDatabase(path string, plausible func(key, value []byte) bool) (index uint64, err error) {
	d, end, err := openDatabase(path)
	if err != nil {
		return 0, err
	}
	defer end()
	found := false
	err = d.walk(func(bucket string, key, value []byte) error {
		if bucket == "meta" && string(key) == "consistent_index" && len(value) == 8 {
			index, found = binary.BigEndian.Uint64(value), true
		}
		return checkValue(bucket, key, value, plausible)
	})
	if err == nil && !found {
		err = damaged("member/snap/db is damaged: it does not record its last change")
	}
	return index, err
}

// checkValue decodes what etcd decodes when it starts, because etcd would panic there.
func checkValue(bucket string, key, value []byte, plausible func(key, value []byte) bool) error {
	bad := fmt.Errorf("%s %.40q has %d invalid bytes", bucket, key, len(value))
	switch bucket {
	case "key":
		var kv mvccpb.KeyValue
		// 8 bytes, an underscore, 8 bytes, and a mark if the key was deleted.
		if len(key) != 17 && len(key) != 18 || kv.Unmarshal(value) != nil || len(kv.Key) == 0 && len(value) > 0 {
			return bad
		}
		// Restoring a store raises its revision with an empty entry.
		if len(key) == 17 && len(value) > 0 && plausible != nil && !plausible(kv.Key, kv.Value) {
			return fmt.Errorf("the object %.200q was changed", kv.Key)
		}
	case "meta":
		if size, fixed := map[string]int{"consistent_index": 8, "term": 8, "scheduledCompactRev": 17, "finishedCompactRev": 17}[string(key)]; fixed && len(value) != size {
			return bad
		}
		if string(key) == "confState" && !json.Valid(value) || string(key) == "storageVersion" && !version.Match(value) {
			return bad
		}
	case "members":
		if !json.Valid(value) {
			return bad
		}
	case "cluster":
		if string(key) == "clusterVersion" && !version.Match(value) || string(key) == "downgrade" && !json.Valid(value) {
			return bad
		}
	case "lease":
		var one leasepb.Lease
		if len(key) != 8 || one.Unmarshal(value) != nil {
			return bad
		}
	case "alarm":
		var one etcdserverpb.AlarmMember
		if one.Unmarshal(key) != nil {
			return bad
		}
	}
	return nil
}

var version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
