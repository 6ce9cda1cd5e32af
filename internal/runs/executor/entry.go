// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/livelog"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// entry is a run in hand. A request holds its lock until it is done, even for slow uploads. Take
// this lock before the hand's; reading the record needs neither.
type entry struct {
	id    string
	stack run.Stack
	// spec is the record's, which never changes.
	spec  *run.Spec
	class queue.Class
	since time.Time
	// place is where the run may execute; nil for beside the server.
	place *run.Place

	// Guarded by hand.mu. token is what its runner shows, another one once the run is taken back.
	// claimed: that token was shown, so nobody takes it back. permitted: its apply may begin, so only
	// a person can stop it. stopped says who stopped it.
	token                                 string
	owner                                 lease.Owner
	claimed, started, canceled, permitted bool
	stopped                               string
	// hindered says why a state of the run cannot be stored, when retrying does not help.
	hindered string
	// tool is what the server does to get the tool of the run, while the run waits for it.
	tool string
	// held runs are not handed out: they have not begun, or a person or the server executes them.
	held bool

	// now is the current record. It is replaced as a whole, nearly always under mu.
	now atomic.Pointer[run.Record]
	// plan is the digest of the run's plan, nil until a part of the plan arrives.
	plan atomic.Pointer[string]

	mu   sync.Mutex
	log  *livelog.Log
	over bool
	// resumed runs began under an earlier server: the record may lack their last steps.
	resumed bool
	// shipped are the digests of the states that this server stored, by their sequence numbers.
	shipped map[int]string
	// torn is true if the API failed after the last state was stored as a version.
	torn bool
	// reported is true once the log lists the possible leftovers of the run.
	reported bool
	// review is the review of the run's plan, once it was requested.
	review *reviewing
}

func newEntry(liveDir string, rec run.Record, resumed bool) (*entry, error) {
	live, err := livelog.Open(liveDir, rec.Spec.ID, rec.Spec.Limits.LogBytes)
	if err != nil {
		return nil, err
	}
	en := &entry{id: rec.Spec.ID, stack: rec.Spec.Stack, token: rec.Token, spec: &rec.Spec, owner: ownerOn(rec),
		started: rec.Started != nil, permitted: rec.Permitted, resumed: resumed, held: held(rec, resumed),
		class: classOf(rec), since: rec.Created, place: rec.Place, log: live}
	if rec.StoppedBy != "" {
		en.stopped, en.canceled = stoppedBy(rec.StoppedBy), true
	}
	if rec.PlanDigest != "" {
		en.plan.Store(&rec.PlanDigest)
	}
	en.now.Store(&rec)
	return en, nil
}

// ownerOn returns the owner according to a record.
func ownerOn(rec run.Record) lease.Owner {
	if rec.Started == nil && rec.Home == "" {
		return lease.Owner{}
	}
	return lease.Owner{Home: cmp.Or(rec.Home, run.HomeLocal), Runner: rec.Runner}
}

// held reports whether a new entry must not be handed to runners.
func held(rec run.Record, resumed bool) bool {
	switch {
	case !rec.Spec.Operation.ByHand():
		return false
	case rec.Spec.Operation == run.OperationShell, rec.Spec.AtServer():
		return true
	}
	return !resumed
}

func classOf(rec run.Record) queue.Class {
	switch rec.Urgency {
	case run.UrgencyAwaited:
		return queue.Urgent
	case run.UrgencyReview:
		return queue.Review
	case run.UrgencyDrift:
		return queue.Drift
	}
	return queue.Changed
}

// record is the current record. It never blocks.
func (en *entry) record() run.Record { return *en.now.Load() }

// change replaces the record by a changed copy. Values it points to are never changed.
func (en *entry) change(do func(rec *run.Record)) {
	for {
		now := en.now.Load()
		rec := *now
		do(&rec)
		if en.now.CompareAndSwap(now, &rec) {
			return
		}
	}
}

// keep stores a record before it becomes the current one, so that a crash loses nothing that others
// have seen. The entry's lock is held.
func (en *entry) keep(ctx context.Context, store records.Store, rec run.Record) error {
	if err := store.Put(ctx, rec); err != nil {
		return err
	}
	en.now.Store(&rec)
	return nil
}

// keepLog stores the log where the record says.
func (en *entry) keepLog(ctx context.Context, store records.Store, rec run.Record) error {
	log, size, err := en.log.Reader()
	if err != nil {
		return err
	}
	return store.PutLog(ctx, rec, log, size)
}

// revocable reports whether the run can be canceled. The hand's lock is held.
func (en *entry) revocable() bool { return !en.permitted || en.record().Planning }
