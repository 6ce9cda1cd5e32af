// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"time"
)

// Default is the length of a lease: fifteen polls, and as long as Kubernetes waits for a node that
// it cannot reach before it evicts the node's Pods.
const Default = 5 * time.Minute

// Owner is whom a run was handed out to. The zero Owner is nobody.
type Owner struct {
	Home, Runner string
}

// Run is a run in hand.
type Run struct {
	ID    string
	Owner Owner
	// Begun is true once its runner has asked for something of the run.
	Begun bool
}

// Poll is what a runner says about itself: which runs it has.
type Poll struct {
	Owner
	Active []string
}

// Home is what is known of a home.
type Home struct {
	// Runner polled last, and took the place of Before.
	Runner, Before string
	// Renewed is when the home's lease began anew.
	Renewed time.Time
	// Alive is true while somebody knows that a runner works there, or that another will follow.
	Alive bool
	// Gone is true when somebody knows that no runner works there and none will follow.
	Gone bool
}

// Takes is the home after a poll of a runner: a runner that was not heard before takes the place of
// the last one.
func (h Home) Takes(runner string, now time.Time) Home {
	if h.Left(runner) {
		return h
	}
	if h.Runner != runner {
		h.Runner, h.Before = runner, h.Runner
	}
	h.Renewed = now
	return h
}

// Left says whether another runner has taken this one's place.
func (h Home) Left(runner string) bool { return runner != "" && runner == h.Before }

// Ended says whether the home's lease has ended.
func (h Home) Ended(now time.Time, length time.Duration) bool {
	return !h.Alive && now.Sub(h.Renewed) >= length
}

// Facts are what a decision is made from.
type Facts struct {
	Now time.Time
	// Length is that of a lease.
	Length time.Duration
	// Poll is the poll to be answered; nil when only time has passed, or a home is gone.
	Poll *Poll
	// Homes has all homes that own runs.
	Homes map[string]Home
}

// Fate is what becomes of a run.
type Fate int

// The fates of a run.
const (
	// Stays leaves the run as it is.
	Stays Fate = iota
	// Claimed makes the polling runner the run's owner.
	Claimed
	// Foreign leaves the run with its owner, and the polling runner must forget it.
	Foreign
	// Again has the run wait for a runner: nobody has it.
	Again
	// Lost ends the run: its runner is gone.
	Lost
	// Unheard ends the run: the lease of its home has ended.
	Unheard
)

// Stale says whether a poll is of a runner whose place another has taken.
func (f Facts) Stale() bool { return f.Poll != nil && f.Homes[f.Poll.Home].Left(f.Poll.Runner) }

// Decide decides what becomes of a run.
func Decide(r Run, f Facts) Fate {
	home := f.Homes[r.Owner.Home]
	polls := f.Poll != nil && !f.Stale()
	named := polls && slices.Contains(f.Poll.Active, r.ID)
	free := r.Owner.Home == ""
	own := polls && r.Owner.Home == f.Poll.Home
	switch {
	// A server that started anew does not know who has it.
	case named && (own || free):
		return Claimed
	// It was lost there and nobody told the runner yet, or another home has it.
	case named:
		return Foreign
	case free:
		return Stays
	// Nobody knows how far a run came that its runner had begun.
	case (own || home.Gone) && r.Begun:
		return Lost
	// The answer that handed it out was lost on its way.
	case own || home.Gone:
		return Again
	// Whether or not it was begun: it may be at work where nobody can hear it.
	case home.Ended(f.Now, f.Length):
		return Unheard
	}
	return Stays
}
