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
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

const (
	prefix     = "refactorings/"
	recordName = "record.json"
	// movesName has the steps and each moved instance, which never change.
	movesName = "moves.json"
	// maxRecord limits a record and its moves.
	maxRecord = 64 << 20
	// before and after begin the names of states, planned those of previews.
	before, after, planned = "before-", "after-", "plan-"
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

// save stores a record without its moves, so that lists and phases cost the same for any number of them.
func (s store) save(ctx context.Context, r *Record) error {
	short := *r
	short.Steps, short.Moved = nil, nil
	return s.put(ctx, r, recordName, short)
}

func (s store) put(ctx context.Context, r *Record, name string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = s.blobs.PutBytes(ctx, s.place(r.Namespace, r.ID, name), text)
	}
	if err != nil {
		return fmt.Errorf("store the refactoring %s: %w", r.ID, err)
	}
	return nil
}

// movesOf are the parts of a record that are stored once.
type movesOf struct {
	Steps []moves.Step  `json:"steps,omitempty"`
	Moved []moves.Moved `json:"moved,omitempty"`
}

// saveMoves stores the steps and the moved instances of a proposal, before its record.
func (s store) saveMoves(ctx context.Context, r *Record) error {
	return s.put(ctx, r, movesName, movesOf{r.Steps, r.Moved})
}

// loadWhole reads a record with its moves.
func (s store) loadWhole(ctx context.Context, namespace, id string) (*Record, error) {
	r, err := s.load(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	text, err := s.blobs.Get(ctx, s.place(namespace, id, movesName), maxRecord)
	var whole movesOf
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the refactoring %s of %s moves: %w", id, namespace, err)
	}
	r.Steps, r.Moved = whole.Steps, whole.Moved
	return r, nil
}

// load reads a record without its moves. Its id may come from a request.
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
	if err == nil && (json.Unmarshal(text, &r) != nil || r.Namespace != namespace || r.ID != id) {
		err = errDamaged
	}
	var large *blob.TooLargeError
	if errors.As(err, &large) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the refactoring %s of %s: %w", id, namespace, err)
	}
	return &r, nil
}

// found are the records of a list. One that is damaged or cannot be read must not hold up the others.
type found struct {
	// records are the readable ones, newest first, without their moves.
	records []*Record
	// lost has an error for each damaged record, and unread one for each that may be readable later.
	lost, unread []error
}

// skippedError says why a record is skipped. Its text may differ each time, as with the number of a request.
type skippedError struct {
	key string
	error
}

func (e *skippedError) Unwrap() error { return e.error }

func skipped(key, format string, args ...any) error {
	return &skippedError{key, fmt.Errorf(format, args...)}
}

// A record that is not read within patience cannot be read. If none can for failedFor, the store answers no request any more, which
// is an error.
const (
	patience  = 4 * time.Second
	failedFor = 10 * time.Second
)

func (s store) loadWithin(ctx context.Context, namespace, id string) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.load(ctx, namespace, id)
}

// list returns the records of a namespace, or of all for an empty one. If the key decrypts no record at all, it is the
// wrong key, and no record is lost: that is an error.
func (s store) list(ctx context.Context, namespace string) (is found, err error) {
	where := prefix
	if namespace != "" {
		where += namespace + "/"
	}
	var sealed error
	var failed time.Duration
	for info, err := range s.blobs.List(ctx, where) {
		if err != nil {
			return found{}, fmt.Errorf("list refactorings: %w", err)
		}
		parts := strings.Split(strings.TrimPrefix(info.Key, prefix), "/")
		if len(parts) != 3 || parts[2] != recordName {
			continue
		}
		begin := time.Now()
		r, err := s.loadWithin(ctx, parts[0], parts[1])
		var broken *blob.SealError
		isSealed := errors.As(err, &broken)
		if isSealed {
			sealed = err
		}
		switch {
		case err == nil:
			is.records = append(is.records, r)
		case errors.Is(err, ErrNotFound):
		case isSealed, errors.Is(err, errDamaged):
			if isSealed {
				err = fmt.Errorf("%w. If the blob store had another key when it was written, restore that key", err)
			}
			is.lost = append(is.lost, skipped(info.Key, "%w. If it was being applied, its states are still locked. Restore %s in the blob store from a backup, "+
				"or compare those states, and then release their locks:\n    yuba force-unlock STACK %s -n %s", err, info.Key, parts[1], parts[0]))
		default:
			if failed += time.Since(begin); ctx.Err() != nil || failed > failedFor && len(is.records)+len(is.lost) == 0 {
				return found{}, err
			}
			is.unread = append(is.unread, skipped(info.Key, "%w. Its record is %s in the blob store", err, info.Key))
		}
	}
	if sealed != nil && len(is.records) == 0 {
		if namespace != "" { // the records of others tell whether it is the key; their names are not for this namespace
			var broken *blob.SealError
			if _, err = s.list(ctx, ""); err != nil && !errors.As(err, &broken) {
				return found{}, fmt.Errorf("list refactorings: whether the blob store has the right key is not known, because it does not answer. Try again later: %w", cmp.Or(ctx.Err(), sealed))
			}
		}
		if namespace == "" || err != nil {
			return found{}, fmt.Errorf("list refactorings: no record can be decrypted. Restore the key of the blob store, and release no locks before: %w", sealed)
		}
	}
	slices.SortFunc(is.records, func(a, b *Record) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return is, nil
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
	if err == nil && statefile.Digest(data) != digest {
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

// drop deletes a refactoring: its record after the other parts, so that it can be repeated, and then whatever was
// stored meanwhile, such as a preview.
func (s store) drop(ctx context.Context, r *Record) error {
	var errs []error
	for _, m := range r.Members {
		for _, when := range []string{before, after, planned} {
			errs = append(errs, s.remove(ctx, s.place(r.Namespace, r.ID, when+m.Stack)))
		}
	}
	errs = append(errs, s.remove(ctx, s.place(r.Namespace, r.ID, movesName)))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.remove(ctx, s.place(r.Namespace, r.ID, recordName)); err != nil {
		return err
	}
	for info, err := range s.blobs.List(ctx, s.place(r.Namespace, r.ID, "")) {
		if err != nil {
			return fmt.Errorf("list the rest of the refactoring %s: %w", r.ID, err)
		}
		errs = append(errs, s.remove(ctx, info.Key))
	}
	return errors.Join(errs...)
}

// orphans are the blobs of refactorings without a record, if all of them are older than a time: a proposal or a deletion
// was killed half-way. A young one may be a proposal that is just being stored.
func (s store) orphans(ctx context.Context, before time.Time) (keys []string, err error) {
	type refactoring struct {
		keys   []string
		stands bool
	}
	all := map[string]*refactoring{}
	for info, err := range s.blobs.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list refactorings: %w", err)
		}
		place, name := path.Split(info.Key)
		r := all[place]
		if r == nil {
			r = &refactoring{}
			all[place] = r
		}
		r.keys = append(r.keys, info.Key)
		r.stands = r.stands || name == recordName || info.Modified.After(before)
	}
	for _, r := range all {
		if !r.stands {
			keys = append(keys, r.keys...)
		}
	}
	return keys, nil
}

func (s store) remove(ctx context.Context, key string) error {
	if err := s.blobs.Delete(ctx, key); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}
