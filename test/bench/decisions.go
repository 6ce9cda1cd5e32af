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

// decision is a line of the server's log that says what it decided about a stack.
type decision struct {
	Time     time.Time `json:"time"`
	Message  string    `json:"msg"`
	Stack    string    `json:"stack"`
	Decision string    `json:"decision"`
}

// decisionLog reads the server's log as it is written. Passes that change nothing leave no trace in the API, so the log
// is where they are seen.
type decisionLog struct {
	mu        sync.Mutex
	rest      []byte
	decisions []decision
	grown     chan struct{}
}

func newDecisionLog() *decisionLog { return &decisionLog{grown: make(chan struct{})} }

// Write takes a piece of the log.
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

// quietPasses waits until n passes over the stack for the sake of drift have come to rest and returns what they took,
// from the decision to look until the decision that knew what was found.
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

// mark is a place in the log.
func (l *decisionLog) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.decisions)
}

// lookedAtAll waits until so many stacks have come to rest after a look for drift that began after a place in the log.
func (l *decisionLog) lookedAtAll(ctx context.Context, at, stacks int) error {
	seen := newLooks(at)
	return l.follow(ctx, seen, func() bool { return len(seen.since) >= stacks },
		func() string { return fmt.Sprintf("%d of %d stacks were looked at", len(seen.since), stacks) })
}

// looks waits until so many looks for drift have ended after a place in the log, also such as began before it, and says
// how many stacks they were at.
func (l *decisionLog) looks(ctx context.Context, at, n int) (stacks int, err error) {
	seen := newLooks(at)
	err = l.follow(ctx, seen, func() bool { return seen.ended >= n },
		func() string { return fmt.Sprintf("%d of %d looks have ended", seen.ended, n) })
	return len(seen.stacks), err
}

// looks are the looks for drift of a log.
type looks struct {
	// next is the decision that was not looked at yet, at the place from which on looks count that end.
	next, at int
	// begun has the stacks that are being looked at, and since which decision.
	begun map[string]int
	// ended is how many looks have ended, at these stacks, and since at those whose look began after the place, too.
	ended         int
	stacks, since map[string]bool
}

func newLooks(at int) *looks {
	return &looks{at: at, begun: map[string]int{}, stacks: map[string]bool{}, since: map[string]bool{}}
}

// see takes the next decision into account.
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

// follow shows all decisions to looks, from the first, and waits for more of them until it is enough.
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

// settled is what became of a change once all is at rest again.
type settled struct {
	// last is when the last decision was made, decided how many stacks one was made on.
	last    time.Time
	decided int
	// ran are the stacks of which a run was begun.
	ran map[string]bool
}

// settled waits until every one of so many stacks was decided on after a place in the log, and all of them are at rest.
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
			return s, fmt.Errorf("%d of %d stacks were decided on, and %d of these are not at rest: %w", s.decided, stacks, restless, ctx.Err())
		}
	}
}

// quietened waits like settled, and until nothing was decided for a while after that: what comes of a change may begin with
// something that moves nobody.
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
