// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Blobs is what the executor needs of the blob store.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader) error
	PutBytes(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	Delete(ctx context.Context, key string) error
}

// States is what the executor needs of the state store.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	Write(ctx context.Context, key state.Key, w state.WriteRequest) (state.Version, error)
	Lock(ctx context.Context, key state.Key, info state.LockInfo) error
	Unlock(ctx context.Context, key state.Key, id string) error
	Push(ctx context.Context, key state.Key, request state.PushRequest) (state.Version, error)
	Rollback(ctx context.Context, key state.Key, versionID string, by state.By) (state.Rollback, error)
	Room(ctx context.Context, key state.Key, now *state.Snapshot, labels map[string]string) error
	Find(ctx context.Context, key state.Key, digest string) (state.Version, []byte, error)
}

// Permission is the answer to whether a run may begin its apply.
type Permission struct {
	Go     bool
	Reason string
}

// Options configure an Executor.
type Options struct {
	Blobs  Blobs
	States States
	// Backend starts the runners; without one, whoever polls is welcome. Lease is how long the runs of a runner that is
	// not heard stay with it where the backend does not know better; 0 means lease.Default.
	Backend Backend
	Lease   time.Duration
	// LiveDir holds the logs of runs in hand.
	LiveDir string
	// ShellDir is where the processes that carry out shells hold their locks, see run.ShellDir; ShellPatience how long
	// one may take to come, 0 means 30 seconds.
	ShellDir      string
	ShellPatience time.Duration
	// ReadPatience is how long the end of an apply waits for evidence that cannot be read; 0 means 5 minutes.
	ReadPatience time.Duration
	// Permit is asked before an apply begins and may veto it; an error is answered with "try again".
	Permit func(ctx context.Context, rec run.Record, plan *run.PlanResult) (Permission, error)
	// Review is asked about each plan of a run that wants it (run.Spec.Review), and a plan it refuses is neither kept nor
	// applied. It may take its time. An error is answered with "try again".
	Review func(ctx context.Context, rec run.Record, plan *run.PlanResult) (Permission, error)
	// Changing is told that a run which plans and applies with one process has begun to change something; nil for nobody.
	// It must not block.
	Changing func(run.Record)
	// Ended is told that a run of the stack ended, or that what it waits for is another now. It must not block.
	Ended func(run.Stack)
	// Observe gets the record of each run that ended under this server, once, before Ended hears of it; nil for nobody. It
	// must not block.
	Observe func(run.Record)
	// NamespaceLimit says how many runs of a namespace may be with runners at a time, 0 for any number; nil sets none.
	NamespaceLimit func(namespace string) int
	// Busy is told whether runs are in hand, again and again. It must not block.
	Busy func(bool)
	// Credential is the runners' own bearer token.
	Credential string
	// Holder names this server in locks, such as "yuba@host".
	Holder  string
	Version string
	Log     *slog.Logger
}

// Executor keeps the runs in hand. Its methods are safe for concurrent use.
type Executor struct {
	opts Options
	log  *slog.Logger

	mu      sync.Mutex
	hand    map[string]*entry
	byStack map[run.Stack]*entry
	queue   *queue.Queue
	// homes are those where runners work, or have worked lately, by their names.
	homes map[string]*home
	// costs are how long the stacks' runs took lately.
	costs    map[run.Stack]time.Duration
	remove   []run.Stack // gone, and no runner said yet that it heard
	changed  chan struct{}
	draining bool
	// told is closed when a runner has been told to drain.
	told     chan struct{}
	tellOnce sync.Once
	passes   quietPasses
	// unstored are quiet passes that ended and whose records are not stored yet; storing waits for those who do that.
	unstored map[run.Stack]*unstoredPass
	storing  sync.WaitGroup
	// done are runs that ended and that nobody recorded yet; they need not be read from the store.
	done map[run.Stack]run.Record
	// unread is since when the evidence of a run cannot be read, by the run's id.
	unread map[string]time.Time
}

// entry is a run in hand. Its own lock is held for as long as a request about it takes, uploads to slow stores included. It
// is never taken under the executor's, and nobody needs it to read the record.
type entry struct {
	id    string
	stack run.Stack
	token string
	// spec is the record's, which never changes.
	spec  *run.Spec
	class queue.Class
	since time.Time

	// Guarded by Executor.mu: whom it was handed out to, whether that has fetched it, whether it should stop, and
	// whether it is past being stopped but by a person, whose wish stopped has in words.
	owner                        lease.Owner
	started, canceled, permitted bool
	stopped                      string
	// hindered says why a state of the run cannot be stored, while trying again does not help.
	hindered string
	// held runs are given to no runner: they have not begun, or somebody else carries them out.
	held bool

	// now is the record as it is. It is replaced as a whole, nearly always by who holds mu.
	now atomic.Pointer[run.Record]

	mu   sync.Mutex
	log  *liveLog
	over bool
	// resumed runs were begun under an earlier server: what they did last may be missing from the record.
	resumed bool
	// shipped are the digests of the states this server stored, by their sequence numbers.
	shipped map[int]string
	// told is true once the log says what the run may have left behind.
	told bool
	// review is the review of the run's plan, once somebody asked for it.
	review *reviewing

	// plan is the digest of the run's plan, nil before anything of it came.
	plan atomic.Pointer[string]
}

// New returns an Executor with nothing in hand.
func New(opts Options) (*Executor, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if err := prepareLiveDir(opts.LiveDir); err != nil {
		return nil, err
	}
	if err := prepareShellDir(opts.ShellDir); err != nil {
		return nil, err
	}
	if opts.Backend == nil {
		opts.Backend = noBackend{}
	}
	return &Executor{opts: opts, log: opts.Log, hand: map[string]*entry{}, byStack: map[run.Stack]*entry{}, homes: map[string]*home{},
		queue: queue.New(0, opts.NamespaceLimit), costs: map[run.Stack]time.Duration{}, changed: make(chan struct{}), told: make(chan struct{}), done: map[run.Stack]run.Record{}, unstored: map[run.Stack]*unstoredPass{},
		unread: map[string]time.Time{},
		passes: quietPasses{ended: map[run.Stack]run.Record{}, last: map[run.Stack]quietPass{}}}, nil
}

// BusyError says that a stack already has a run in hand.
type BusyError struct {
	Stack run.Stack
	RunID string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("start a run of %s: run %s is in hand", e.Stack, e.RunID)
}

// Is makes the error a run.ErrBusy.
func (e *BusyError) Is(target error) bool { return target == run.ErrBusy }

// Prepare stores the record of a run that is about to start. A quiet pass is stored when it is over, or comes forward.
func (e *Executor) Prepare(ctx context.Context, rec run.Record) error {
	if rec.Quiet {
		return nil
	}
	return e.store(ctx, rec)
}

// Start queues a run whose record was prepared. Starting a run that is in hand already does nothing; another run of
// the same stack in hand is a *BusyError.
func (e *Executor) Start(_ context.Context, rec run.Record) error { return e.take(rec, false) }

// Resume takes up a run that an earlier server left. One whose apply may have begun waits for its runner's word. Any
// other is queued: a runner that has it says so before it is given work, and otherwise it may begin anew. Resume returns
// the record; a record with a result is over and was not taken up.
func (e *Executor) Resume(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	if en := e.inHand(stack); en != nil && en.id == id {
		return en.record(), nil
	}
	rec, err := e.Record(ctx, stack, id)
	if err != nil {
		return rec, err
	}
	if rec.Result != nil {
		return rec, nil
	}
	if err := e.take(rec, true); err != nil {
		return rec, err
	}
	if err := e.resumeByHand(ctx, stack, id); err != nil {
		return rec, err
	}
	if done, ok := e.justDone(stack, id); ok {
		return done, nil
	}
	return rec, nil
}

func (e *Executor) take(rec run.Record, resumed bool) error {
	en := &entry{id: rec.Spec.ID, stack: rec.Spec.Stack, token: rec.Token, spec: &rec.Spec, owner: ownerOn(rec),
		started: rec.Started != nil, permitted: rec.Permitted, resumed: resumed, held: held(rec, resumed),
		class: classOf(rec), since: rec.Created}
	if rec.StoppedBy != "" {
		en.stopped, en.canceled = stoppedBy(rec.StoppedBy), true
	}
	if rec.PlanDigest != "" {
		en.plan.Store(&rec.PlanDigest)
	}
	en.now.Store(&rec)
	live, err := openLiveLog(e.opts.LiveDir, rec.Spec.ID, rec.Spec.Limits.LogBytes)
	if err != nil {
		return err
	}
	en.log = live
	e.mu.Lock()
	defer e.mu.Unlock()
	if busy := e.byStack[en.stack]; busy != nil {
		if busy.id == en.id {
			return nil
		}
		return &BusyError{Stack: en.stack, RunID: busy.id}
	}
	e.hand[en.id], e.byStack[en.stack] = en, en
	switch {
	case en.held:
	case en.owner.Home != "":
		e.isRunning(en)
		e.homeOf(en.owner.Home)
	default:
		e.wait(en)
	}
	if e.waitsFor(en) != "" {
		e.tell(en.stack)
	}
	e.announce()
	return nil
}

// announce wakes everybody who waits for a change. The executor's lock is held.
func (e *Executor) announce() {
	if e.opts.Busy != nil {
		e.opts.Busy(len(e.hand) > 0)
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *Executor) inHand(stack run.Stack) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byStack[stack]
}

// InHand returns the stack's run in hand and whether it was told to stop.
func (e *Executor) InHand(stack run.Stack) (rec run.Record, canceled, ok bool) {
	e.mu.Lock()
	en := e.byStack[stack]
	waits := ""
	if en != nil {
		canceled, waits = en.canceled, e.waitsFor(en)
	}
	e.mu.Unlock()
	if en == nil {
		return run.Record{}, false, false
	}
	rec = en.record()
	rec.Waits = waits
	return rec, canceled, true
}

// record is the run's record as it is now. It waits for nobody: stack workers ask while a run's state is on its way to a
// store that may be slow.
func (en *entry) record() run.Record { return *en.now.Load() }

// change replaces the record by a changed one. What the record points to is never changed, only replaced.
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

// Cancel asks a run to stop: at once when no runner has it, otherwise as soon as its runner finds it safe. A run that has
// begun to change something goes on.
func (e *Executor) Cancel(ctx context.Context, id string) error {
	e.mu.Lock()
	en := e.hand[id]
	if en == nil || !en.revocable() {
		e.mu.Unlock()
		return nil
	}
	en.canceled = true
	waiting := e.stopWaiting(en)
	e.announce()
	e.mu.Unlock()
	if !waiting {
		return nil
	}
	return e.endWaiting(ctx, en, run.Result{Outcome: run.OutcomeCanceled, Error: "canceled before it began", Finished: time.Now()})
}

// revocable says whether the run can be called back. The executor's lock is held.
func (en *entry) revocable() bool { return !en.permitted || en.record().Planning }

// endWaiting ends a run that was taken out of the queue.
func (e *Executor) endWaiting(ctx context.Context, en *entry, result run.Result) error {
	err := e.finish(ctx, en, result)
	if err != nil {
		// Nobody would end it otherwise: a runner that is told of it ends it, or the next call.
		e.mu.Lock()
		defer e.mu.Unlock()
		en.canceled, en.stopped = false, ""
		en.change(func(rec *run.Record) { rec.StoppedBy = "" })
		e.wait(en)
		e.announce()
	}
	return err
}

// stopWaiting takes a run out of the queue and tells whether it was there. The executor's lock is held.
func (e *Executor) stopWaiting(en *entry) bool {
	return e.queue.Remove(en.id)
}

// Drain makes runners finish what they have and take nothing more. The channel is closed when one was told.
func (e *Executor) Drain() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.draining = true
	e.announce()
	return e.told
}

// Busy counts runs in hand and those of them that wait for a runner.
func (e *Executor) Busy() (inHand, waiting int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.hand), e.queue.Len()
}

// NotFoundError says that there is no record of a run.
type NotFoundError struct {
	Stack run.Stack
	RunID string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("read run %s of %s: there is no such run", e.RunID, e.Stack)
}

// Is makes the error a run.ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == run.ErrNotFound }

const recordLimit = 32 << 20

// Record reads a run's record: the live one while it is in hand, the stored one otherwise.
func (e *Executor) Record(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	if en := e.inHand(stack); en != nil && en.id == id {
		return en.record(), nil
	}
	if rec, ok := e.justDone(stack, id); ok {
		return rec, nil
	}
	if en := e.unstoredPass(stack); en != nil && (en.id == id || id == run.QuietSlot) {
		return en.record(), nil
	}
	var rec run.Record
	data, err := e.opts.Blobs.Get(ctx, stack.Key(id, run.BlobRecord), recordLimit)
	var sealed *blob.SealError
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return e.quietRecord(ctx, stack, id)
	case errors.As(err, &sealed):
		return rec, fmt.Errorf("read run %s of %s: %w: %w", id, stack, run.ErrDamaged, err)
	case err != nil:
		return rec, fmt.Errorf("read run %s of %s: %w", id, stack, err)
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, fmt.Errorf("read run %s of %s: %w: %w", id, stack, run.ErrDamaged, err)
	}
	return rec, nil
}

func (e *Executor) store(ctx context.Context, rec run.Record) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	if err := e.opts.Blobs.PutBytes(ctx, rec.Key(run.BlobRecord), data); err != nil {
		return fmt.Errorf("write run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	return nil
}

// Credential is the runners' own bearer token.
func (e *Executor) Credential() string { return e.opts.Credential }
