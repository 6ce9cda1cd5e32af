// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// decision is a line of the server's log with a decision on a stack.
type decision struct {
	Time     time.Time `json:"time"`
	Message  string    `json:"msg"`
	Stack    string    `json:"stack"`
	Decision string    `json:"decision"`
}

// decisionLog reads the server's log while it is written. Drift checks without drift leave no trace
// in the API; only the log shows them.
type decisionLog struct {
	mu        sync.Mutex
	rest      []byte
	decisions []decision
	grown     chan struct{}
}

func newDecisionLog() *decisionLog { return &decisionLog{grown: make(chan struct{})} }

// Write receives a part of the log.
func (l *decisionLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		var d decision
		if json.Unmarshal(l.rest[:i], &d) == nil && d.Message == "decided" && d.Stack != "" { // other kinds have decisions, too
			l.decisions = append(l.decisions, d)
			close(l.grown)
			l.grown = make(chan struct{})
		}
		l.rest = l.rest[i+1:]
	}
}

// quietPasses waits for the end of n drift checks of the stack and returns their durations, from
// the decision to check until the decision that knows the result.
func (l *decisionLog) quietPasses(ctx context.Context, stack string, n int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l.mu.Lock()
		took, grown := quietPasses(l.decisions, stack), l.grown
		l.mu.Unlock()
		if len(took) >= n {
			return took[:n], nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mark is the current position in the log.
func (l *decisionLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.decisions)
}

// lookedAtAll waits until this many stacks have completed a drift check that began after a position
// in the log.
func (l *decisionLog) lookedAtAll(ctx context.Context, at, stacks int) error {
	seen := newLooks(at)
	return l.follow(ctx, seen, func() bool { return len(seen.since) >= stacks },
		func() string { return fmt.Sprintf("%d of %d stacks were checked for drift", len(seen.since), stacks) })
}

// looks waits until n drift checks have ended after a position in the log, including those that
// began before it, and returns the number of different stacks.
func (l *decisionLog) looks(ctx context.Context, at, n int) (stacks int, err error) {
	seen := newLooks(at)
	err = l.follow(ctx, seen, func() bool { return seen.ended >= n },
		func() string { return fmt.Sprintf("%d of %d drift checks have ended", seen.ended, n) })
	return len(seen.stacks), err
}

// looks tracks the drift checks in a log.
type looks struct {
	// next is the index of the next decision to read; checks that end from index at on count.
	next, at int
	// begun maps each stack with an active drift check to the index of the decision that began it.
	begun map[string]int
	// ended counts ended checks; stacks are theirs, since those of checks that
	// also began at or after index at.
	ended         int
	stacks, since map[string]bool
}

func newLooks(at int) *looks {
	return &looks{at: at, begun: map[string]int{}, stacks: map[string]bool{}, since: map[string]bool{}}
}

// see processes the next decision.
func (k *looks) see(d decision) {
	began, looking := k.begun[d.Stack]
	switch {
	case strings.Contains(d.Decision, "(DriftCheckDue)"):
		k.begun[d.Stack] = k.next
	case strings.HasPrefix(d.Decision, "rest ") && looking:
		delete(k.begun, d.Stack)
		if k.next >= k.at {
			k.ended++
			k.stacks[d.Stack] = true
			if began >= k.at {
				k.since[d.Stack] = true
			}
		}
	}
	k.next++
}

// follow passes all decisions to seen, beginning with the first, and waits for more until enough is
// true.
func (l *decisionLog) follow(ctx context.Context, seen *looks, enough func() bool, far func() string) error {
	for {
		l.mu.Lock()
		fresh, grown := l.decisions[seen.next:], l.grown
		l.mu.Unlock()
		for _, d := range fresh {
			if seen.see(d); enough() {
				return nil
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", far(), ctx.Err())
		}
	}
}

// settled is the outcome of a change, once all stacks are idle again.
type settled struct {
	// last is the time of the last decision, decided the number of stacks with a decision.
	last    time.Time
	decided int
	// ran are the stacks that began a run.
	ran map[string]bool
}

// settled waits until this many stacks have had a decision after a position in the log and all of
// them are idle.
func (l *decisionLog) settled(ctx context.Context, at, stacks int) (settled, error) {
	s, resting := settled{ran: map[string]bool{}}, map[string]bool{}
	restless := 0
	for {
		l.mu.Lock()
		fresh, grown := l.decisions[at:], l.grown
		l.mu.Unlock()
		at += len(fresh)
		for _, d := range fresh {
			was, known := resting[d.Stack]
			rests := strings.HasPrefix(d.Decision, "rest ")
			switch {
			case rests && known && !was:
				restless--
			case !rests && (was || !known):
				restless++
			}
			resting[d.Stack], s.last = rests, d.Time
			if strings.HasPrefix(d.Decision, "plan") || strings.HasPrefix(d.Decision, "apply") {
				s.ran[d.Stack] = true
			}
		}
		if s.decided = len(resting); s.decided >= stacks && restless == 0 {
			return s, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return s, fmt.Errorf("%d of %d stacks were decided on, and %d of these are not idle: %w", s.decided, stacks, restless, ctx.Err())
		}
	}
}

// quietened waits like settled, and then until no decision was made for a while: the first effects
// of a change may move no stack.
func (l *decisionLog) quietened(ctx context.Context, at, stacks int, quiet time.Duration) (settled, error) {
	for {
		s, err := l.settled(ctx, at, stacks)
		if err != nil {
			return s, err
		}
		seen := l.mark()
		if err := pause(ctx, quiet); err != nil {
			return s, err
		}
		if l.mark() == seen {
			return l.settled(ctx, at, stacks)
		}
	}
}

func quietPasses(decisions []decision, stack string) []time.Duration {
	var took []time.Duration
	var began time.Time
	for _, d := range decisions {
		switch {
		case d.Stack != stack:
		case strings.Contains(d.Decision, "(DriftCheckDue)"):
			began = d.Time
		case strings.HasPrefix(d.Decision, "rest ") && !began.IsZero():
			took = append(took, d.Time.Sub(began))
			began = time.Time{}
		}
	}
	return took
}
