// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// flight is a piece of work that several wait for.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

// once does a piece of work for all who ask for it at a time, in this process and others. It goes on for as long as
// anybody waits. Its error is everybody's; what the work leaves behind they look for themselves.
func (s *Store) once(ctx context.Context, key string, do func(context.Context) error) (err error) {
	s.mu.Lock()
	f := s.flights[key]
	if f == nil {
		working, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{cancel: cancel, done: make(chan struct{})}
		s.flights[key] = f
		go s.fly(working, key, f, do)
	}
	f.waiting++
	s.mu.Unlock()
	select {
	case <-f.done:
		err = f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if s.flights[key] == f {
			delete(s.flights, key) // who comes now begins anew
		}
	}
	s.mu.Unlock()
	return err
}

func (s *Store) fly(ctx context.Context, key string, f *flight, do func(context.Context) error) {
	defer func() {
		if problem := recover(); problem != nil { // it is nobody's own: it would end the whole process
			f.err = fmt.Errorf("fetch the provider: %v. This is a bug in Yuba", problem)
		}
		s.mu.Lock()
		if s.flights[key] == f {
			delete(s.flights, key)
		}
		s.mu.Unlock()
		close(f.done)
	}()
	f.err = s.alone(ctx, key, do)
}

// alone keeps other processes from doing the same.
func (s *Store) alone(ctx context.Context, key string, do func(context.Context) error) error {
	lock := flock.New(filepath.Join(s.dir, stagingName, key+".lock"))
	if locked, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil || !locked {
		return fmt.Errorf("wait for another process to fetch the provider: %w", err)
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks, too
	return do(ctx)
}

// digest names things in paths.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:32]
}
