// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// Record says which parts of a home belong together.
type Record struct {
	// Store identifies the store. It is empty while the home may have none.
	Store string `json:"store"`
	// Keys are fingerprints of files below keys/.
	Keys map[string]string `json:"keys"`
	// Blobs is true if blobs are stored in the data directory.
	Blobs bool `json:"blobs"`
}

// The keys that cannot be replaced without a loss.
const (
	authorityCertificate = "ca.crt"
	authorityKey         = "ca.key"
	tokenKey             = "service-account.key"
	secretsKey           = "encryption.yaml"
	blobsKey             = "blob.agekey"
)

// lasting lists those keys in the order of the checks.
var lasting = []string{secretsKey, blobsKey, authorityCertificate, authorityKey, tokenKey}

// recipientName is a file in the directory of blobs with the recipient they are encrypted for.
const recipientName = ".recipient"

// read returns nil if the record is missing or damaged.
func read(dir datadir.Dir) (*Record, error) {
	data, err := os.ReadFile(dir.Record())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which parts of the home belong together: %w", err)
	}
	r := &Record{}
	if json.Unmarshal(data, r) != nil {
		return nil, nil
	}
	return r, nil
}

// Write records which parts belong together, unless they are recorded already. Blobs in the data
// directory count once there are any.
func Write(dir datadir.Dir, store string, blobsHere bool) error {
	keys, err := fingerprints(dir)
	if err != nil {
		return err
	}
	sealed, err := exists(filepath.Join(dir.Blobs(), recipientName))
	if err != nil {
		return err
	}
	return write(dir, &Record{Store: store, Keys: keys, Blobs: blobsHere && sealed})
}

func write(dir datadir.Dir, r *Record) error {
	old, err := read(dir)
	if err != nil {
		return err
	}
	if old != nil && old.Store == r.Store && old.Blobs == r.Blobs && maps.Equal(old.Keys, r.Keys) {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("record which parts of the home belong together: %w", err)
	}
	return datadir.WriteFile(dir.Record(), append(data, '\n'), 0o600)
}

// fingerprints returns digests of the existing lasting keys. The keys are random, so digests reveal
// nothing.
func fingerprints(dir datadir.Dir) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range lasting {
		data, err := os.ReadFile(filepath.Join(dir.Keys(), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the key %s: %w", name, err)
		}
		found[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return found, nil
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check the home: %w", err)
	}
	return true, nil
}
