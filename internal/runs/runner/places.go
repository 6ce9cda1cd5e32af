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

// turn is the job's place among those that work.
type turn struct {
	run *execution.Run
	r   *runner
	// placed is true while the job has one of the runner's places, since placedAt; ending once it needs none any more.
	placed, ending bool
	placedAt       time.Time
	// stuck is true while its state waits for a person. The runner's lock guards it and ending.
	stuck bool
	// unplaced is true for a job that the server gave until it has had a place. The runner's lock guards it.
	unplaced bool
}

// As many jobs work at once as the runner's capacity says; each of them has a place, from its init to the end of its
// last process. What comes before and after, fetching and unpacking the source or shipping states, log and result, is
// done beside the work of others, so that the places are never empty while there is something to do. A job whose plan is
// being reviewed gives its place up, too: the services that are asked may take minutes, or hang, and nobody else's runs
// wait for them.

const (
	// maxAside is how many jobs may be without a place for a review: each has its plan in memory at the server.
	maxAside = 64
	// maxAhead is how many jobs may be prepared while all places are taken: each may have a large state in memory.
	maxAhead = 8
	// maxStuck is how many jobs may wait for a person, with their states in the spool, before they count as work.
	maxStuck = 512
	// brisk is how long a place is held at most, on average, for the next job to be worth preparing ahead. What is
	// prepared cannot be overtaken any more by what is more urgent, and beside long runs nothing is won.
	brisk = 10 * time.Second
)

// tally counts jobs by where they are; the runner's lock guards it.
type tally struct {
	// aside wait for a review of their plan, ending have done their work and ship what came of it.
	// stuck are those of the ending whose state the server cannot store before a person does something. Other people's jobs
	// do not wait for that.
	aside, ending, stuck int
	// held is for how long places were held lately.
	held time.Duration
}

// takePlace waits for a place, unless the job is to stop.
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

// keepPlace takes a place for what works already, if one is left.
func (u *turn) keepPlace() {
	select {
	case u.run.Places <- struct{}{}:
		u.placed, u.placedAt = true, time.Now()
	default:
	}
}

// awaitPlace is takePlace as a step. When the runner leaves meanwhile, nothing more is begun.
func (u *turn) awaitPlace(ctx context.Context) error {
	u.takePlace(ctx)
	if !u.placed && ctx.Err() != nil {
		return &fault.Failure{Step: run.StepInit, Outcome: run.OutcomeInterrupted, Err: errors.New("the runner left before anything was begun")}
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

// end says that the job starts nothing more: another one may come.
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

// stall says whether the job's state waits for a person.
func (u *turn) stall(stuck bool) {
	u.r.count(func(t *tally) {
		if u.ending && stuck != u.stuck {
			t.stuck += map[bool]int{true: 1, false: -1}[stuck]
		}
		u.stuck = stuck
	})
}

// gone takes an ended job off the count; the runner's lock is held.
func (u *turn) gone() {
	if u.ending {
		u.ending = false
		u.r.tally.ending--
		if u.stuck {
			u.r.tally.stuck--
		}
	}
}

// aside does what waits for others, and lets another job work meanwhile.
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

// count changes the tally, and has the server asked for more when there is room now.
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

// capacity is how many more jobs the runner takes; r.lock is held.
func (r *runner) capacity() int {
	room := r.Opts.Capacity + min(r.tally.aside, maxAside) + min(r.tally.ending-r.tally.stuck, r.Opts.Capacity+maxAhead) + min(r.tally.stuck, maxStuck)
	if r.tally.held <= brisk {
		room += min(r.Opts.Capacity, maxAhead)
	}
	return max(0, room-len(r.active))
}
