// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"

	"github.com/yuba-dev/yuba/internal/blob"
)

// Reading is what a version was read as.
type Reading[T any] struct {
	Version Version
	Value   T
}

// Readings reads the stored versions newest first, several at a time, and yields what read makes of
// each. A damaged version, or one that read refuses, is yielded with its error, and does not end the
// iteration; any other error does.
func Readings[T any](ctx context.Context, s *Store, key Key, read func(Version, []byte) (T, error)) iter.Seq2[Reading[T], error] {
	return func(yield func(Reading[T], error) bool) {
		ids, err := s.readable(ctx, key)
		if err != nil {
			yield(Reading[T]{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type answer struct {
			Reading[T]
			err error
		}
		one := func(id string) (a answer) {
			var data []byte
			if a.Version, data, a.err = s.readVersion(ctx, key, id); a.err == nil {
				if a.err = key.owned("version "+id, a.Version.Scope); a.err == nil {
					a.Value, a.err = read(a.Version, data)
				}
			}
			a.Version.ID = id
			return a
		}
		slices.Reverse(ids)
		ahead := runtime.GOMAXPROCS(0) + 1
		var pending []chan answer
		for next := 0; next < len(ids) || len(pending) > 0; {
			for ; next < len(ids) && len(pending) < ahead; next++ {
				c := make(chan answer, 1)
				pending = append(pending, c)
				go func(id string) { c <- one(id) }(ids[next])
			}
			a := <-pending[0]
			pending = pending[1:]
			if errors.Is(a.err, blob.ErrNotFound) || errors.Is(a.err, ErrNoVersion) {
				continue // deleted meanwhile
			}
			if !yield(a.Reading, a.err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// readable returns the ids of the versions that the key's stack may read, oldest first.
func (s *Store) readable(ctx context.Context, key Key) ([]string, error) {
	if key.Scope != "" { // a version from before the stack had a tenant does not name one
		if _, err := s.getSecret(ctx, key); err != nil {
			return nil, err
		}
	}
	return s.VersionIDs(ctx, key)
}
