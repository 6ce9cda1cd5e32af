// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// Stopper holds at most one wish to stop, and the process it is to reach.
type Stopper struct {
	// wished is called, when set, with the first wish.
	wished  context.CancelFunc
	mu      sync.Mutex
	reason  string
	process *process.Process
	// spare keeps a process that changes something from being stopped by the wish.
	spare bool
	// person is true when the wish is a person's.
	person bool
}

// Ask wishes the job to stop. With spareApply an apply that has begun to change something goes on to its end.
func (s *Stopper) Ask(reason string, spareApply bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askLocked(reason, spareApply)
}

// Insist is a person's wish to stop, whatever is going on. It takes the place of a wish before it.
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

// Attach makes p the process that a wish reaches; a wish that came before reaches it at once.
func (s *Stopper) Attach(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p != nil && s.reason != "" && !(s.spare && p.Changes()) {
		p.Interrupt(s.reason)
	}
}

// Attached is the process that a wish would reach, nil without one.
func (s *Stopper) Attached() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Until returns a context that ends with the first wish, for waiting that changes nothing.
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

func (s *Stopper) Asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// ByPerson says whether the wish is a person's.
func (s *Stopper) ByPerson() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.person
}
