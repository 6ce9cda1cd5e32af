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

// MaxSize limits an uncompressed state.
const MaxSize = 256 << 20

// attempts limits retries of a write after a conflict; each one reads the current state again.
const attempts = 5

// blobs is the part of the blob store that a Store needs.
type blobs interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	PutBytes(ctx context.Context, key string, data []byte) error
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	Delete(ctx context.Context, key string) error
}

// Store reads and writes states. It is safe for concurrent use.
type Store struct {
	client client.Client
	blobs  blobs
	// leases reads Leases from a cache; nil without one.
	leases *fresh.Reader
}

// New returns a Store on an API and a blob store. The client must not cache Secrets and Leases.
func New(c client.Client, blobs *blob.Store) *Store { return &Store{client: c, blobs: blobs} }

// Watching returns the Store with a cache of the Leases that [Leases] selects. It saves requests;
// acquiring a lock still asks the API.
func (s *Store) Watching(cache client.Reader) *Store {
	return &Store{client: s.client, blobs: s.blobs, leases: fresh.New(cache, s.client)}
}

// Snapshot is a state as it was read.
type Snapshot struct {
	// Data is nil if there has never been a state.
	Data    []byte
	Serial  uint64
	Lineage string
	// Encrypted is true if OpenTofu encrypted the state.
	Encrypted bool
	Digest    string
	// ResourceVersion is that of the Secret; empty without one.
	ResourceVersion string
	// Immutable is true if the Secret is immutable: the state cannot be replaced.
	Immutable bool
	// Ownership describes the owners.
	Ownership Ownership
}

// Mark identifies the snapshot for a later Write.
func (s *Snapshot) Mark() Mark { return Mark{Serial: s.Serial, Lineage: s.Lineage, Digest: s.Digest} }

// ReadOption configures Read.
type ReadOption func(*readOptions)

type readOptions struct{ expectExisting bool }

// ExpectExisting makes a missing state an error, because the stack has been applied before.
func ExpectExisting() ReadOption { return func(o *readOptions) { o.expectExisting = true } }

// Read returns the current state. It returns a *CorruptError if the Secret contains something else,
// and a *VanishedError if an earlier state is missing.
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

// retried repeats a write that conflicts with another one.
func retried(write func(attempt int) error) error {
	for attempt := 1; ; attempt++ {
		if err := write(attempt); !lostRace(err) || attempt == attempts {
			return err
		}
	}
}

// lostRace reports that an API object changed between reading and writing it.
func lostRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
