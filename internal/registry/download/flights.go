// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"context"
	"fmt"
	"sync"
)

// Flights does each piece of work once for all concurrent callers. The zero value is ready for use.
//
// Unlike golang.org/x/sync/singleflight, it cancels the work when no caller still waits, not
// when the first caller leaves.
type Flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

// flight is a piece of work with several waiters.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

// Do does a piece of work unless it is in progress already. It continues as long as a caller waits,
// and all callers get its error. Callers find its results themselves.
func (s *Flights) Do(ctx context.Context, key string, work func(context.Context) error) (err error) {
	f := s.join(ctx, key, work)
	select {
	case <-f.done:
		err = f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		s.forget(key, f) // later callers start again
	}
	return err
}

func (s *Flights) join(ctx context.Context, key string, work func(context.Context) error) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.all[key]
	if f == nil {
		working, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{cancel: cancel, done: make(chan struct{})}
		if s.all == nil {
			s.all = map[string]*flight{}
		}
		s.all[key] = f
		go s.fly(working, key, f, work)
	}
	f.waiting++
	return f
}

func (s *Flights) fly(ctx context.Context, key string, f *flight, work func(context.Context) error) {
	defer func() {
		if problem := recover(); problem != nil { // without recover, a panic here would end the process
			f.err = fmt.Errorf("download: %v. This is a bug in Yuba", problem)
		}
		s.mu.Lock()
		s.forget(key, f)
		s.mu.Unlock()
		close(f.done)
	}()
	f.err = work(ctx)
}

// Waiting returns the number of callers that wait.
func (s *Flights) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		n += f.waiting
	}
	return n
}

// forget must be called with the lock held.
func (s *Flights) forget(key string, f *flight) {
	if s.all[key] == f {
		delete(s.all, key)
	}
}
