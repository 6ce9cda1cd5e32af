// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/blob"
)

// maxPacked limits a version in its stored form: a state, its note, and what gzip adds to data that
// it cannot compress.
const maxPacked = MaxSize + 1<<20

// VersionIDs returns the ids of the stored versions, oldest first.
func (s *Store) VersionIDs(ctx context.Context, key Key) ([]string, error) {
	ids, err := s.versionIDs(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", key, err)
	}
	return ids, nil
}

// OpenPacked returns a version in its stored form: a gzip file with the version's note in its
// header. It returns ErrNoVersion if there is none with that id. It checks nothing.
func (s *Store) OpenPacked(ctx context.Context, key Key, id string) (io.ReadCloser, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	if _, _, err := parseID(id); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoVersion, err)
	}
	packed, err := s.openBlob(ctx, key.versionsPrefix()+id)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("read version %s of the state of %s: %w", id, key, ErrNoVersion)
	}
	return packed, err
}

// CheckPacked returns the error that PutPacked would return, and stores nothing.
func (s *Store) CheckPacked(ctx context.Context, key Key, id, was string, packed io.Reader) error {
	_, _, err := s.offered(ctx, key, id, was, packed)
	return err
}

// PutPacked stores a version of another home under its id: its content must be the state that its
// note describes. It belongs to the key's tenant here. The owner with the UID was becomes the key's
// stack; others stay as they are. It never replaces another state, and repeating it is safe.
func (s *Store) PutPacked(ctx context.Context, key Key, id, was string, packed io.Reader) (Version, error) {
	version, data, err := s.offered(ctx, key, id, was, packed)
	if err != nil {
		return Version{}, err
	}
	repacked, err := packVersion(version, data)
	if err == nil {
		err = s.blobs.PutBytes(ctx, key.versionsPrefix()+id, repacked)
	}
	if err != nil {
		return Version{}, fmt.Errorf("store version %s of the state of %s: %w", id, key, err)
	}
	return version, nil
}

// offered is a version of another home as it is to be stored here.
func (s *Store) offered(ctx context.Context, key Key, id, was string, packed io.Reader) (Version, []byte, error) {
	if err := key.Validate(); err != nil {
		return Version{}, nil, err
	}
	refused := func(err error) error { return &CorruptError{Key: key, Where: "version " + id, Offered: true, Err: err} }
	version, data, err := unpackVersion(id, packed)
	if err != nil {
		return Version{}, nil, refused(err)
	}
	version.Scope = key.Scope
	had, content, err := s.openVersion(ctx, key, id)
	switch {
	case err == nil:
		if err := content.Close(); err != nil {
			return Version{}, nil, err
		}
		if had.Digest != version.Digest || had.Lineage != version.Lineage {
			return Version{}, nil, refused(errors.New("another state is stored under its id"))
		}
		if had.Scope.Excludes(key.Scope) {
			return Version{}, nil, refused(errors.New("the one that is stored belongs to another tenant"))
		}
		// A state that stacks share comes with each of them. Each knows only its own new UID.
		version.Owners, version.RunID, version.Reason = had.Owners, had.RunID, had.Reason
	case !errors.Is(err, blob.ErrNotFound) && !damaged(err):
		return Version{}, nil, fmt.Errorf("read version %s of the state of %s: %w", id, key, err)
	}
	for i := range version.Owners {
		if version.Owners[i].UID == was && key.UID != "" {
			version.Owners[i].UID = key.UID
		}
	}
	return version, data, nil
}

// unpackVersion reads a version that may be hostile.
func unpackVersion(id string, packed io.Reader) (Version, []byte, error) {
	at, serial, err := parseID(id)
	if err != nil {
		return Version{}, nil, err
	}
	content, n, err := readNote(io.LimitReader(packed, maxPacked))
	if err != nil {
		return Version{}, nil, err
	}
	data, err := readLimited(content)
	if err != nil {
		return Version{}, nil, err
	}
	is, err := newSnapshot(data)
	if err != nil {
		return Version{}, nil, err
	}
	if is.Digest != n.Digest || is.Serial != serial || is.Lineage != n.Lineage {
		return Version{}, nil, errors.New("its id and its note describe another state")
	}
	if len(n.Reason) > maxReason || len(n.RunID) > maxReason || len(n.Owners) > maxOwners {
		return Version{}, nil, errors.New("its note is too long")
	}
	return Version{ID: id, Time: at, Serial: serial, Lineage: n.Lineage, Digest: n.Digest, Size: int64(len(data)), Encrypted: is.Encrypted,
		RunID: n.RunID, Reason: n.Reason, Owners: n.Owners}, data, nil
}
