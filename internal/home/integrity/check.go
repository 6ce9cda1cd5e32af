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

// facts are what there is in a data directory.
type facts struct {
	record *Record
	// used: Yuba has been ready here before. ready: "yuba up" has.
	used, ready bool
	store       etcd.Facts
	// damage is what is wrong with the store.
	damage *etcd.DamageError
	keys   map[string]string
	// secrets is why the Secrets of the store do not open with the key that is there.
	secrets error
	// blobsHere: the data directory is where blobs are kept. sealed: there are some. unfit: why they do not open.
	blobsHere, sealed bool
	unfit             error
}

// Check looks at a home before any of its parts is opened. It returns a *datadir.RefusedError when Yuba must not start
// there.
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

// plausible says whether the API server can have stored a value: as protobuf, as JSON, or encrypted.
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

// blobsOpen compares the key of the blobs with the one that they are sealed for.
func blobsOpen(dir datadir.Dir) error {
	text, err := os.ReadFile(filepath.Join(dir.Blobs(), recipientName))
	if err != nil {
		return fmt.Errorf("read for whom the blobs are sealed: %w", err)
	}
	key, err := os.ReadFile(dir.BlobKey())
	if err != nil {
		return fmt.Errorf("read the key of the blobs: %w", err)
	}
	// The parser's error may quote the key.
	identities, err := age.ParseIdentities(bytes.NewReader(key))
	if err != nil || len(identities) != 1 {
		return errors.New("it is not a file with one age identity")
	}
	identity, ok := identities[0].(*age.X25519Identity)
	if its := strings.TrimSpace(string(text)); !ok || identity.Recipient().String() != its {
		return fmt.Errorf("they are sealed for %.70s", its)
	}
	return nil
}
