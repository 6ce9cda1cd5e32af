// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"time"
)

// Default is the length of a lease: fifteen polls. Kubernetes waits as long before it evicts the
// Pods of an unreachable node.
const Default = 5 * time.Minute

// Owner is the runner that has a run, and its home. The zero Owner means that no runner has it.
type Owner struct {
	Home, Runner string
}

// Run is a run in hand.
type Run struct {
	ID    string
	Owner Owner
	// Begun is true once its runner has made a request for the run.
	Begun bool
}

// Poll is a runner's request. It lists the runner's runs.
type Poll struct {
	Owner
	Active []string
}

// Home is the state of a home.
type Home struct {
	// Runner polled last. Before are the runners that it and the ones before it replaced, oldest
	// first.
	Runner string
	Before []string
	// Renewed is when the lease began.
	Renewed time.Time
	// Alive is true while a runner is known to work there, or another will follow.
	Alive bool
	// Gone is true if no runner works there and none will follow.
	Gone bool
}

// remembered is how many replaced runners a home remembers: a poll of each may still be on its way.
const remembered = 16

// Takes is the home after a poll: a new runner replaces the last one.
func (h Home) Takes(runner string, now time.Time) Home {
	if h.Left(runner) {
		return h
	}
	if h.Runner != runner {
		if h.Runner != "" {
			h.Before = append(slices.Clone(h.Before[max(0, len(h.Before)+1-remembered):]), h.Runner)
		}
		h.Runner = runner
	}
	h.Renewed = now
	return h
}

// Left reports whether another runner has replaced this one.
func (h Home) Left(runner string) bool { return runner != "" && slices.Contains(h.Before, runner) }

// Ended reports whether the home's lease has ended.
func (h Home) Ended(now time.Time, length time.Duration) bool {
	return !h.Alive && now.Sub(h.Renewed) >= length
}

// Facts are the input of a decision.
type Facts struct {
	Now time.Time
	// Length is the length of a lease.
	Length time.Duration
	// Poll is the poll to be answered; nil if only time has passed, or a home is gone.
	Poll *Poll
	// Homes are all homes with runs.
	Homes map[string]Home
}

// Fate is the decision about a run.
type Fate int

// The fates of a run.
const (
	// Stays leaves the run as it is.
	Stays Fate = iota
	// Claimed makes the polling runner the run's owner.
	Claimed
	// Foreign leaves the run with its owner; the polling runner must forget it.
	Foreign
	// Again queues the run: no runner has it.
	Again
	// Lost ends the run: its runner is gone.
	Lost
	// Unheard ends the run: the lease of its home has ended.
	Unheard
)

// Stale reports whether a poll is from a replaced runner.
func (f Facts) Stale() bool { return f.Poll != nil && f.Homes[f.Poll.Home].Left(f.Poll.Runner) }

// Decide returns the fate of a run.
func Decide(r Run, f Facts) Fate {
	home := f.Homes[r.Owner.Home]
	polls := f.Poll != nil && !f.Stale()
	named := polls && slices.Contains(f.Poll.Active, r.ID)
	free := r.Owner.Home == ""
	own := polls && r.Owner.Home == f.Poll.Home
	switch {
	// A restarted server does not know which runner has it.
	case named && (own || free):
		return Claimed
	// It was declared lost before this runner got the order to forget it, or another home has it.
	case named:
		return Foreign
	case free:
		return Stays
	// It began, and it is unknown how far it got.
	case (own || home.Gone) && r.Begun:
		return Lost
	// The answer that handed it out was lost.
	case own || home.Gone:
		return Again
	// Begun or not: an unreachable runner may still execute it.
	case home.Ended(f.Now, f.Length):
		return Unheard
	}
	return Stays
}
