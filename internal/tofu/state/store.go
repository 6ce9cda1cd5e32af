// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"io"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
)

// MaxSize bounds a state, unpacked: the bytes a compressed one may grow to when it is read.
const MaxSize = 256 << 20

// attempts bounds how often a write that met another one is tried again, each time after looking what is there now.
const attempts = 5

// blobs is what a Store needs of the blob store.
type blobs interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	PutBytes(ctx context.Context, key string, data []byte) error
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	Delete(ctx context.Context, key string) error
}

// Store reads and writes states. Its methods may be called at the same time from anywhere.
type Store struct {
	client client.Client
	blobs  blobs
	// leases are read from a cache; nil without one.
	leases *fresh.Reader
}

// New makes a Store over an API and a blob store. The client must not cache Secrets and Leases.
func New(c client.Client, blobs *blob.Store) *Store { return &Store{client: c, blobs: blobs} }

// Watching returns the Store with a cache of the Leases that [Leases] selects. It saves questions; what a lock is taken
// or said to be held on is asked of the API all the same.
func (s *Store) Watching(cache client.Reader) *Store {
	return &Store{client: s.client, blobs: s.blobs, leases: fresh.New(cache, s.client)}
}

// Snapshot is a state as it was read.
type Snapshot struct {
	// Data is nil when there has never been a state.
	Data    []byte
	Serial  uint64
	Lineage string
	// Encrypted states are opaque: OpenTofu encrypted them.
	Encrypted bool
	Digest    string
	// ResourceVersion is the Secret's, empty when there is none.
	ResourceVersion string
	// Immutable is true when somebody has made the Secret so: no other state can take this one's place.
	Immutable bool
	// Ownership says whose resources it holds.
	Ownership Ownership
}

// Mark identifies the snapshot for a later Write.
func (s *Snapshot) Mark() Mark { return Mark{Serial: s.Serial, Lineage: s.Lineage, Digest: s.Digest} }

// ReadOption changes what Read takes for granted.
type ReadOption func(*readOptions)

type readOptions struct{ expectExisting bool }

// ExpectExisting tells Read that the stack has been applied before, so that a state must be there.
func ExpectExisting() ReadOption { return func(o *readOptions) { o.expectExisting = true } }

// Read returns the current state. It is a *CorruptError when the Secret holds something else, and a *VanishedError
// when no state is there although one has been.
func (s *Store) Read(ctx context.Context, key Key, options ...ReadOption) (*Snapshot, error) {
	var o readOptions
	for _, option := range options {
		option(&o)
	}
	if err := key.Validate(); err != nil {
		return nil, err
	}
	secret, err := s.getSecret(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	snapshot, err := s.decode(ctx, key, secret)
	if err != nil || snapshot.Data != nil {
		return snapshot, err
	}
	newest, err := s.newest(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	if newest != nil && secret == nil {
		if successor, err := s.successor(ctx, key, *newest); err != nil || successor != nil {
			return successor, err
		}
	}
	if newest != nil || o.expectExisting {
		return nil, &VanishedError{Key: key, Newest: newest, Emptied: secret != nil}
	}
	return snapshot, nil
}

// lostRace says that an API object changed between our reading and writing it.
func lostRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
