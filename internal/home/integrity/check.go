// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
)

// facts describe the content of a data directory.
type facts struct {
	record *Record
	// used: Yuba has been ready here before. ready: "yuba up" has.
	used, ready bool
	store       etcd.Facts
	// damage is the damage of the store.
	damage *etcd.DamageError
	keys   map[string]string
	// secrets is why the store's Secrets cannot be decrypted with the current key.
	secrets error
	// blobsHere: blobs are stored in the data directory. sealed: there are some. unfit: why they
	// cannot be decrypted.
	blobsHere, sealed bool
	unfit             error
}

// Check verifies a home before any of its parts is opened. It returns a *datadir.RefusedError if
// Yuba must not start there.
func Check(dir datadir.Dir, blobsHere bool) (etcd.Facts, error) {
	f, err := gather(dir, blobsHere)
	if err != nil {
		return etcd.Facts{}, dir.Unusable(fmt.Errorf("check %s: %w", dir, err))
	}
	if p := decide(f); p != nil {
		if p.lost == LossBlobs && f.damage == nil && !f.store.Empty {
			p.large = largeStates(dir)
		}
		return etcd.Facts{}, p.refusal(dir)
	}
	return f.store, dir.CheckRoom(f.store.Empty)
}

func gather(dir datadir.Dir, blobsHere bool) (f facts, err error) {
	if err := f.gatherKept(dir, blobsHere); err != nil {
		return f, err
	}
	f.used = f.record != nil || f.ready || f.sealed
	f.store, err = etcd.Check(dir.Etcd(), etcd.Expect{Plausible: plausible, FullLog: f.record != nil})
	if err != nil && !errors.As(err, &f.damage) {
		return f, err
	}
	known := f.record != nil && f.record.Keys[secretsKey] == f.keys[secretsKey]
	if f.damage == nil && !f.store.Empty && f.keys[secretsKey] != "" && !known {
		f.secrets = secretsOpen(dir)
	}
	return f, nil
}

// plausible reports whether the API server can have stored a value: as protobuf, as JSON, or
// encrypted.
func plausible(key, value []byte) bool {
	if !bytes.HasPrefix(key, []byte("/registry/")) {
		return true
	}
	switch {
	case bytes.HasPrefix(value, []byte("k8s\x00")), bytes.HasPrefix(value, []byte("k8s:enc:")):
		return true
	}
	return json.Valid(value)
}

// blobsOpen checks that the key fits the recipient of the blobs.
func blobsOpen(dir datadir.Dir) error {
	text, err := os.ReadFile(filepath.Join(dir.Blobs(), recipientName))
	if err != nil {
		return fmt.Errorf("read the recipient of the blobs: %w", err)
	}
	key, err := os.ReadFile(dir.BlobKey())
	if err != nil {
		return fmt.Errorf("read the key of the blobs: %w", err)
	}
	// Drop the parser's error: it may quote the key.
	identities, err := age.ParseIdentities(bytes.NewReader(key))
	if err != nil || len(identities) != 1 {
		return errors.New("the file does not contain exactly one age identity")
	}
	identity, ok := identities[0].(*age.X25519Identity)
	if its := strings.TrimSpace(string(text)); !ok || identity.Recipient().String() != its {
		return fmt.Errorf("they are encrypted for %.70s", its)
	}
	return nil
}
