// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// Stopper holds at most one request to stop, and the process that it applies to.
type Stopper struct {
	// wished is called at the first request; nil for none.
	wished  context.CancelFunc
	mu      sync.Mutex
	reason  string
	process *process.Process
	// spare exempts a process that has begun to change something.
	spare bool
	// person is true for the request of a user.
	person bool
}

// Ask requests a stop. With spareApply, an apply that has begun to change something continues.
func (s *Stopper) Ask(reason string, spareApply bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askLocked(reason, spareApply)
}

// Insist is the request of a user to stop, even during an apply. It replaces an earlier request.
func (s *Stopper) Insist(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.person {
		return
	}
	s.person = true
	s.askLocked(reason, false)
}

func (s *Stopper) askLocked(reason string, spareApply bool) {
	if s.reason != "" && (spareApply || !s.spare) {
		return
	}
	first := s.reason == ""
	s.reason, s.spare = reason, spareApply
	if first && s.wished != nil {
		s.wished()
	}
	if s.process != nil && !(s.spare && s.process.Changes()) {
		s.process.Interrupt(reason)
	}
}

// Attach sets the process that a request applies to. An earlier request applies to it at once.
func (s *Stopper) Attach(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p != nil && s.reason != "" && !(s.spare && p.Changes()) {
		p.Interrupt(s.reason)
	}
}

// Attached is the process that a request would apply to; nil for none.
func (s *Stopper) Attached() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Until returns a context that ends with the first request, for waits that change nothing.
func (s *Stopper) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wished = cancel
	if s.reason != "" {
		cancel()
	}
	return ctx, cancel
}

// Asked returns who requested the stop and why; empty without a request.
func (s *Stopper) Asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// ByPerson reports whether a user requested the stop.
func (s *Stopper) ByPerson() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.person
}
