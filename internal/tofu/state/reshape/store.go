// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

const (
	prefix     = "refactorings/"
	recordName = "record.json"
	// maxRecord limits a record: it names each moved instance.
	maxRecord = 64 << 20
	// before and after begin the names of states.
	before, after = "before-", "after-"
)

// ErrNotFound means that there is no such refactoring.
var ErrNotFound = errors.New("there is no such refactoring")

// errDamaged means that a stored state is not the one of its record.
var errDamaged = errors.New("the blob is damaged")

// store keeps records and states.
type store struct{ blobs *blob.Store }

func (s store) place(namespace, id, part string) string {
	return prefix + namespace + "/" + id + "/" + part
}

func (s store) save(ctx context.Context, r *Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.blobs.PutBytes(ctx, s.place(r.Namespace, r.ID, recordName), text); err != nil {
		return fmt.Errorf("store the refactoring %s: %w", r.ID, err)
	}
	return nil
}

// load reads a record. Its id may come from a request.
func (s store) load(ctx context.Context, namespace, id string) (*Record, error) {
	place := s.place(namespace, id, recordName)
	if strings.Contains(id, "/") || blob.ValidateKey(place) != nil {
		return nil, fmt.Errorf("read the refactoring %q of %s: %w", id, namespace, ErrNotFound)
	}
	text, err := s.blobs.Get(ctx, place, maxRecord)
	if errors.Is(err, blob.ErrNotFound) {
		err = fmt.Errorf("%w. List them:\n    yuba refactor list -n %s", ErrNotFound, namespace)
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the refactoring %s of %s: %w", id, namespace, err)
	}
	return &r, nil
}

// list returns the records of a namespace, or of all for an empty one, newest first.
func (s store) list(ctx context.Context, namespace string) (records []*Record, err error) {
	where := prefix
	if namespace != "" {
		where += namespace + "/"
	}
	for info, err := range s.blobs.List(ctx, where) {
		if err != nil {
			return nil, fmt.Errorf("list refactorings: %w", err)
		}
		parts := strings.Split(strings.TrimPrefix(info.Key, prefix), "/")
		if len(parts) != 3 || parts[2] != recordName {
			continue
		}
		r, err := s.load(ctx, parts[0], parts[1])
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *Record) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return records, nil
}

func (s store) putState(ctx context.Context, r *Record, when, stack string, data []byte) error {
	var packed bytes.Buffer
	// Proposals are written for a preview that a person waits for, and most are never applied.
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return s.blobs.PutBytes(ctx, s.place(r.Namespace, r.ID, when+stack), packed.Bytes())
}

// readState reads a state and checks that it is the one of the record.
func (s store) readState(ctx context.Context, r *Record, when, stack, digest string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("read the state of %s/%s in the refactoring %s: %w", r.Namespace, stack, r.ID, err)
	}
	packed, err := s.blobs.Open(ctx, s.place(r.Namespace, r.ID, when+stack))
	if err != nil {
		return fail(err)
	}
	defer packed.Close()
	var data []byte
	content, err := gzip.NewReader(packed)
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(content, state.MaxSize+1))
	}
	if err == nil && state.Digest(data) != digest {
		err = fmt.Errorf("its digest is wrong: %w", errDamaged)
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return fail(err)
	}
	return data, nil
}

// drop deletes a refactoring, its record last.
func (s store) drop(ctx context.Context, r *Record) error {
	var errs []error
	for _, m := range r.Members {
		for _, when := range []string{before, after} {
			errs = append(errs, s.remove(ctx, s.place(r.Namespace, r.ID, when+m.Stack)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.remove(ctx, s.place(r.Namespace, r.ID, recordName))
}

func (s store) remove(ctx context.Context, key string) error {
	if err := s.blobs.Delete(ctx, key); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

const (
	// proposalLife is how long a proposal that nobody applies is kept, recordLife a refactoring.
	proposalLife = 24 * time.Hour
	recordLife   = 365 * 24 * time.Hour
	// stateLife is how long the former states are kept for an undo.
	stateLife = 90 * 24 * time.Hour
)

// Collect deletes what is too old: proposals, the states of former refactorings, and their records.
func (d *Desk) Collect(ctx context.Context) error {
	records, err := d.store().list(ctx, "")
	if err == nil {
		err = d.step("listed")
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, listed := range records {
		if listed.Phase.Open() || d.now().Sub(listed.Changed) <= proposalLife {
			continue
		}
		r, err := d.reserve(ctx, listed)
		if err != nil {
			errs = append(errs, err)
		}
		if r == nil {
			continue
		}
		age := d.now().Sub(r.Changed)
		switch {
		case r.Phase.Open():
		case r.Phase == Proposed && age > proposalLife, age > recordLife:
			errs = append(errs, d.store().drop(ctx, r))
		case age > stateLife:
			for _, m := range r.Members {
				errs = append(errs, d.store().remove(ctx, d.store().place(r.Namespace, r.ID, before+m.Stack)))
			}
		}
		d.give(r)
	}
	return errors.Join(errs...)
}
