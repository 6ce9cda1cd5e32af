// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// turn is a job's claim to a place.
type turn struct {
	run *execution.Run
	r   *runner
	// placed is true while the job has a place, since placedAt. ending: it no longer needs one.
	placed, ending bool
	placedAt       time.Time
	// stuck is true while its state waits for a user. The runner's lock guards it and ending.
	stuck bool
	// unplaced is true for a new job until it gets a place. The runner's lock guards it.
	unplaced bool
}

// Preparing the source and shipping the results need no place, so places are not idle while jobs
// wait. A job also gives its place up while its plan is reviewed, which may take minutes.

const (
	// maxAside limits the jobs in a review: the server has the plan of each in memory.
	maxAside = 64
	// maxAhead limits the jobs prepared while no place is free: each may hold a large state.
	maxAhead = 8
	// maxStuck limits the jobs that wait for a user without counting as work.
	maxStuck = 512
	// brisk is the average time in a place up to which jobs are prepared ahead. Long runs gain
	// nothing, and more urgent jobs cannot overtake a prepared one.
	brisk = 10 * time.Second
)

// tally counts jobs by phase; the runner's lock guards it.
type tally struct {
	// aside jobs are in a review; ending ones ship their results. stuck counts those of the ending
	// whose state the server cannot store until a user acts.
	aside, ending, stuck int
	// held is the recent average time in a place.
	held time.Duration
}

// takePlace waits for a place, or a request to stop.
func (u *turn) takePlace(ctx context.Context) {
	if u.placed {
		return
	}
	waiting, cancel := u.run.Stop.Until(ctx)
	defer cancel()
	select {
	case u.run.Places <- struct{}{}:
		u.placed, u.placedAt = true, time.Now()
		u.r.lock.Lock()
		u.unplaced = false
		u.r.lock.Unlock()
	case <-waiting.Done():
	}
}

// keepPlace takes a place for a process that runs already, if one is free.
func (u *turn) keepPlace() {
	select {
	case u.run.Places <- struct{}{}:
		u.placed, u.placedAt = true, time.Now()
	default:
	}
}

// awaitPlace is takePlace as a step. It fails if the runner exits meanwhile.
func (u *turn) awaitPlace(ctx context.Context) error {
	u.takePlace(ctx)
	if !u.placed && ctx.Err() != nil {
		return &fault.Failure{Step: run.StepInit, Outcome: run.OutcomeInterrupted, Err: errors.New("the runner exited before the run started")}
	}
	return execution.ErrNotThisStep
}

func (u *turn) leavePlace() {
	if !u.placed {
		return
	}
	u.placed = false
	<-u.run.Places
	u.r.count(func(t *tally) { t.held += (time.Since(u.placedAt) - t.held) / 4 })
}

// end gives the place back permanently, so that the runner may accept another job.
func (u *turn) end() {
	u.leavePlace()
	if !u.ending {
		u.r.count(func(t *tally) {
			u.ending = true
			t.ending++
			if u.stuck {
				t.stuck++
			}
		})
	}
}

// stall records whether the job's state waits for a user.
func (u *turn) stall(stuck bool) {
	u.r.count(func(t *tally) {
		if u.ending && stuck != u.stuck {
			t.stuck += map[bool]int{true: 1, false: -1}[stuck]
		}
		u.stuck = stuck
	})
}

// gone removes an ended job from the tally; the runner's lock is held.
func (u *turn) gone() {
	if u.ending {
		u.ending = false
		u.r.tally.ending--
		if u.stuck {
			u.r.tally.stuck--
		}
	}
}

// aside waits without a place, so that another job can work.
func (u *turn) aside(ctx context.Context, wait func(context.Context) error) error {
	if !u.placed {
		return wait(ctx)
	}
	u.leavePlace()
	u.r.count(func(t *tally) { t.aside++ })
	defer func() {
		u.r.count(func(t *tally) { t.aside-- })
		u.takePlace(ctx)
	}()
	return wait(ctx)
}

// count changes the tally, and polls again if that adds capacity.
func (r *runner) count(change func(*tally)) {
	r.lock.Lock()
	before := r.capacity()
	change(&r.tally)
	more := r.capacity() > before
	r.lock.Unlock()
	if more {
		r.wake()
	}
}

// capacity is the number of jobs that the runner can accept; r.lock is held.
func (r *runner) capacity() int {
	if r.Opts.Pod { // never two stacks at once
		return max(0, 1-len(r.active))
	}
	room := r.Opts.Capacity + min(r.tally.aside, maxAside) + min(r.tally.ending-r.tally.stuck, r.Opts.Capacity+maxAhead) + min(r.tally.stuck, maxStuck)
	if r.tally.held <= brisk {
		room += min(r.Opts.Capacity, maxAhead)
	}
	return max(0, room-len(r.active))
}
