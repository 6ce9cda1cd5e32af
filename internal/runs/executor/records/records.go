// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Blobs is the part of the blob store that the records use.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader) error
	PutBytes(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	Delete(ctx context.Context, key string) error
}

// Store reads and writes the records and files of runs.
type Store struct {
	Blobs Blobs
	// Kinds spares Prune most records; nil: it fetches them each time.
	Kinds *Kinds
}

// NotFound returns a run.ErrNotFound: a run, or the requested part of it, is not stored.
func NotFound(stack run.Stack, id string) error {
	return fmt.Errorf("read run %s of %s: %w", id, stack, run.ErrNotFound)
}

// Limits of blobs that are read into memory.
const (
	recordLimit   = 32 << 20
	partLimit     = 64 << 20
	lockFileLimit = 4 << 20
)

// Put stores a run's record.
func (s Store) Put(ctx context.Context, rec run.Record) error {
	data, err := json.Marshal(rec)
	if err == nil {
		err = s.Blobs.PutBytes(ctx, rec.Key(run.BlobRecord), data)
	}
	if err != nil {
		return fmt.Errorf("write run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	return nil
}

// Get reads a run's own record, or the one in the place of quiet passes. Errors other than
// run.ErrNotFound and run.ErrDamaged are transient.
func (s Store) Get(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	rec, err := s.read(ctx, stack, id)
	if id == run.QuietSlot || !errors.Is(err, run.ErrNotFound) {
		return rec, err
	}
	rec, err = s.read(ctx, stack, run.QuietSlot)
	if err == nil && rec.Spec.ID != id || errors.Is(err, run.ErrNotFound) {
		return run.Record{}, NotFound(stack, id)
	}
	return rec, err
}

func (s Store) read(ctx context.Context, stack run.Stack, slot string) (rec run.Record, err error) {
	data, err := s.Blobs.Get(ctx, stack.Key(slot, run.BlobRecord), recordLimit)
	var sealed *blob.SealError
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return rec, NotFound(stack, slot)
	case errors.As(err, &sealed):
		err = fmt.Errorf("%w: %w", run.ErrDamaged, err)
	case err == nil:
		if err = json.Unmarshal(data, &rec); err != nil {
			err = fmt.Errorf("%w: %w", run.ErrDamaged, err)
		}
	}
	if err != nil {
		return rec, fmt.Errorf("read run %s of %s: %w", slot, stack, err)
	}
	return rec, nil
}

// Part reads one of the blobs of a run, such as run.BlobPlanText, or returns run.ErrNotFound.
func (s Store) Part(ctx context.Context, stack run.Stack, id, part string) ([]byte, error) {
	data, err := s.Blobs.Get(ctx, stack.Key(id, part), partLimit)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, NotFound(stack, id)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of run %s of %s: %w", part, id, stack, err)
	}
	return data, nil
}

// IDs lists the runs of a stack that have a record of their own, oldest first.
func (s Store) IDs(ctx context.Context, stack run.Stack) ([]string, error) {
	runs, err := s.left(ctx, stack)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range runs {
		if slices.ContainsFunc(r.parts, isRecord) {
			ids = append(ids, r.id)
		}
	}
	return ids, nil
}

// LockFile reads the dependency lock file of the stack's last run; nil if it has none.
func (s Store) LockFile(ctx context.Context, stack run.Stack) ([]byte, error) {
	data, err := s.Blobs.Get(ctx, stack.LockFileKey(), lockFileLimit)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("read the dependency lock file of %s: %w", stack, err)
	}
	return data, nil
}

// PutLockFile stores the stack's dependency lock file.
func (s Store) PutLockFile(ctx context.Context, stack run.Stack, data []byte) error {
	if err := s.Blobs.PutBytes(ctx, stack.LockFileKey(), data); err != nil {
		return fmt.Errorf("store the dependency lock file of %s: %w", stack, err)
	}
	return nil
}

// StateKey names the managed state of a record's run.
func StateKey(rec run.Record) state.Key {
	return state.Key{Namespace: rec.State.Namespace, Workspace: rec.State.Workspace, Suffix: rec.State.Suffix, Stack: rec.State.Stack,
		UID: claimant(rec), Scope: rec.State.Scope}
}

// claimant returns the stack that owns the states that the run writes, unless the run is manual or
// has targets.
func claimant(rec run.Record) string {
	if rec.Spec.Operation.ByHand() || len(rec.Spec.Targets) > 0 {
		return ""
	}
	return rec.Spec.Stack.UID
}
