// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
)

// once does a piece of work for all concurrent callers, and remembers failures.
func (s *Store) once(ctx context.Context, key string, do func(context.Context) error) error {
	return s.flights.Do(ctx, key, func(ctx context.Context) error {
		err := do(ctx)
		if err != nil && ctx.Err() == nil {
			s.noteFailure(key)
		}
		return err
	})
}

func (s *Store) noteFailure(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failed) >= maxFailures {
		clear(s.failed)
	}
	s.failed[key] = s.Now()
}

// failedLately reports whether a fetch has failed so recently that another attempt is not worth the
// wait.
func (s *Store) failedLately(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, there := s.failed[key]
	if there && s.Now().Sub(at) > failedFor {
		delete(s.failed, key)
		there = false
	}
	return there
}
