// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
)

// LoadOrCreateKey reads the age identity at path, or creates it (mode 0600, in age-keygen's
// format). Two processes that create it concurrently get the same key.
func LoadOrCreateKey(path string) (*age.X25519Identity, error) {
	identity, err := loadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return identity, err
	}
	if err := createKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the blob key %s: %w", path, err)
	}
	return loadKey(path)
}

func loadKey(path string) (*age.X25519Identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the blob key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read the blob key %s: other users may read it (mode %04o).\nMake it private:\n    chmod 600 %s",
			path, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the blob key: %w", err)
	}
	// Do not wrap the parser's error: it may quote the line, which may be a damaged secret key.
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil || len(identities) != 1 {
		return nil, fmt.Errorf("read the blob key %s: it does not contain exactly one age identity; restore it from a backup", path)
	}
	identity, ok := identities[0].(*age.X25519Identity)
	if !ok {
		return nil, fmt.Errorf("read the blob key %s: it contains a %T, expected an X25519 identity", path, identities[0])
	}
	return identity, nil
}

// createKey writes the file under another name and links it into place: readers never see an
// incomplete key, and an existing key is never replaced.
func createKey(path string) (err error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".blobkey-*") // 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = fmt.Fprintf(file, "# created: %s\n# public key: %s\n%s\n",
		time.Now().UTC().Format(time.RFC3339), identity.Recipient(), identity)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return syncDirectory(os.Open(dir))
}

// syncDirectory makes the entries of an open directory durable and closes it.
func syncDirectory(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
