// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/kit/memory"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/initcache"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Options say where a runner works and with what.
type Options = execution.Options

// runner is the state of the process.
type runner struct {
	*execution.Equipment
	id string

	lock   sync.Mutex
	active map[string]*job
	tally  tally
	drain  bool
	// terminated is true when the drain is not the server's to take back.
	terminated bool
	// removed are the stacks whose working directories the last response told to remove.
	removed []run.Stack
	group   sync.WaitGroup
	// finished gets a token when a job has ended, to repeat a poll that was made without capacity.
	finished chan struct{}
	// leaving is closed while the runner drains.
	leaving chan struct{}
}

// Run executes runs until the server drains it, ctx ends, or it is idle and the server has been
// gone for a while. If another runner uses the directory, it returns nil at once.
//
// The runner leads its own session and outlives terminals and servers. It ignores SIGHUP and
// SIGINT; on SIGTERM it stops plans, lets applies finish and exits.
func Run(ctx context.Context, opts execution.Options) error {
	opts, err := opts.WithDefaults()
	if err != nil {
		return err
	}
	for _, dir := range []string{opts.Dir, filepath.Join(opts.Dir, "runs"), filepath.Join(opts.Dir, "orphans"), opts.WorkRoot} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create the runner's directory: %w", err)
		}
	}
	lock := flock.New(filepath.Join(opts.Dir, "lock"))
	locked, err := tryLock(ctx, lock)
	if err != nil {
		return fmt.Errorf("lock the runner's directory %s: %w", opts.Dir, err)
	}
	if !locked {
		opts.Log.Info("another runner uses this directory; exiting", "directory", opts.Dir)
		return nil
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks, too
	r := newRunner(opts)
	if err := r.OpenStores(); err != nil {
		return err
	}
	if err := r.buildWalls(ctx); err != nil {
		return err
	}
	for _, m := range r.Walls.Missing {
		opts.Log.Warn("a wall around programs is missing", "wall", m.Wall, "why", m.Why, "means", m.Means)
	}
	return r.work(ctx)
}

// newRunner returns a runner without jobs.
func newRunner(opts execution.Options) *runner {
	e := &execution.Equipment{
		Opts: opts, Server: serverOf(opts), Tools: tools.NewBox(opts.Tofu, opts.Tools), Inits: initcache.New(),
		Artifacts: workspace.NewArtifacts(filepath.Join(opts.Dir, "artifacts")), Trees: workspace.NewTrees(filepath.Join(opts.Dir, "trees")),
		Places: make(chan struct{}, opts.Capacity), Users: workspace.NewUsers(opts.Dir, opts.WorkRoot), Walls: confinement.Walls{Sandbox: opts.Sandbox},
	}
	e.Area = workspace.NewArea(opts.WorkRoot, &e.Walls, e.Users)
	e.Meter = usage.New(&e.Walls, e.Disks, opts.Reserve, opts.Pod)
	return &runner{Equipment: e, id: run.NewID(time.Now()), active: map[string]*job{}, finished: make(chan struct{}, 1), leaving: make(chan struct{})}
}

// serverOf is the connection that the options name, or that of the connection file.
func serverOf(opts execution.Options) *link.Server {
	if opts.Server != "" {
		return link.Fixed(run.Connection{URL: opts.Server, CA: opts.CA}, opts.TokenFile, opts.Version)
	}
	return link.New(opts.Dir, opts.Version)
}

// tryLock retries for a moment: a child of a killed runner holds the lock until it becomes tofu.
func tryLock(ctx context.Context, lock *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	locked, err := lock.TryLockContext(ctx, link.FirstDelay)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return locked, err
}

func (r *runner) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer r.group.Wait()
	defer cancel()
	signals := make(chan os.Signal, 4)
	// Not ignored, because tofu and its provisioners would inherit that.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM {
					r.leave()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := r.adoptAll(ctx); err != nil {
		return err
	}
	go func() {
		_, _ = r.Tools.Find(ctx, run.Tool{}) // warms the cache; the first run reports errors
		if err := memory.Shrink(); err != nil {
			r.Opts.Log.Debug("cannot return unused memory", "error", err)
		}
	}()
	go r.TidyStores(ctx)
	r.poll(ctx)
	return nil
}

// leave begins to drain. The end of a Pod kills what remains, so applies stop, too, in time for
// their states to be delivered.
func (r *runner) leave() {
	if !r.Opts.Pod {
		r.stopPlans("the runner is shutting down")
		return
	}
	r.stopPlans("the runner's Pod is shutting down")
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, j := range r.jobs() {
		j.run.Stop.Ask("the runner's Pod is shutting down", false)
	}
}

// stopPlans begins to drain: no new runs, plans stop, applies finish.
func (r *runner) stopPlans(reason string) {
	r.lock.Lock()
	r.terminated = true
	r.setDrain(true)
	jobs := r.jobs()
	r.lock.Unlock()
	for _, j := range jobs {
		j.run.Stop.Ask(reason, true)
	}
	r.wake()
}

// setDrain starts or cancels draining; r.lock is held.
func (r *runner) setDrain(drain bool) {
	switch {
	case drain && !r.drain:
		close(r.leaving)
	case !drain && r.drain:
		r.leaving = make(chan struct{})
	}
	r.drain = drain
}

func (r *runner) wake() {
	select {
	case r.finished <- struct{}{}:
	default:
	}
}

// poll asks for work until the runner may exit.
func (r *runner) poll(ctx context.Context) {
	var pause link.Backoff
	for ctx.Err() == nil {
		request := r.pollRequest()
		if r.draining() && len(request.Active) == 0 {
			r.Opts.Log.Info("drained; the runner exits")
			return
		}
		response, err := r.askForWork(ctx, request)
		switch {
		case err == nil:
			pause = link.Backoff{}
			r.obey(ctx, response)
			r.settle(ctx, response)
			continue
		case errors.Is(err, errAgain):
			continue
		case r.Server.Silence() > r.Opts.ServerGone && r.Processes.Load() == 0 && !(r.Opts.Pod && len(request.Active) > 0): // no runner follows in a Pod
			r.Opts.Log.Info("server unreachable and nothing running; the runner exits, and the next one delivers the spool", "spooled", len(request.Active))
			return
		}
		r.Opts.Log.Debug("cannot request work", "error", err)
		pause.Wait(ctx)
	}
}

// settle pauses between polls: the server repeats its requests until the runs are gone.
func (r *runner) settle(ctx context.Context, response run.PollResponse) {
	pause := 200 * time.Millisecond
	switch {
	case response.Drain:
		pause = 2 * time.Second
	case len(response.Cancel)+len(response.Forget) == 0:
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.finished:
		r.wake() // for the next poll
	case <-ctx.Done():
	}
}

// errAgain ends a poll that was made without capacity once there is capacity.
var errAgain = errors.New("ask again")

// askForWork makes one long poll.
func (r *runner) askForWork(ctx context.Context, p run.PollRequest) (run.PollResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, run.PollWait+10*time.Second)
	defer cancel()
	var again atomic.Bool
	stop := make(chan struct{})
	defer close(stop)
	r.lock.Lock()
	finished, leaving := r.finished, r.leaving
	if p.Capacity > 0 { // do not interrupt a poll that may bring work
		finished = nil
	} else if r.drain {
		leaving = nil
	}
	r.lock.Unlock()
	go func() {
		select {
		case <-finished:
		case <-leaving: // the next poll shows the server a lost assignment
		case <-stop:
			return
		}
		again.Store(true)
		cancel()
	}()
	u := memory.Measure()
	p.Home = r.Server.Home()
	p.Usage = &run.Usage{MemoryBytes: u.Memory, CPU: run.Duration(u.CPU), ChildCPU: run.Duration(u.Children)}
	var response run.PollResponse
	_, err := r.Server.Do(ctx, link.Request{Method: http.MethodPost, Path: "/poll", Body: execution.Encode(p), Into: &response})
	if again.Load() && err != nil {
		return response, errAgain
	}
	return response, err
}

func (r *runner) pollRequest() run.PollRequest {
	r.lock.Lock()
	defer r.lock.Unlock()
	p := run.PollRequest{Runner: r.id, Version: r.Opts.Version, Active: []string{},
		Build: r.Opts.Build, Draining: r.drain && !r.terminated, Removed: r.removed, Places: r.Opts.Capacity}
	for id, j := range r.active {
		p.Active = append(p.Active, id)
		if j.turn.unplaced {
			p.Ahead = append(p.Ahead, id)
		}
	}
	slices.Sort(p.Active)
	slices.Sort(p.Ahead)
	if !r.drain {
		p.Capacity = r.capacity()
	}
	if p.Capacity > 0 { // only a poll without capacity waits for this
		select {
		case <-r.finished:
		default:
		}
	}
	return p
}

func (r *runner) draining() bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.drain
}

// obey carries out the server's response.
func (r *runner) obey(ctx context.Context, response run.PollResponse) {
	r.lock.Lock()
	// A restarted server keeps a runner that its predecessor drained.
	r.setDrain(response.Drain || r.terminated)
	r.removed = response.Remove
	byID := map[string]*job{}
	for id, j := range r.active {
		byID[id] = j
	}
	r.lock.Unlock()
	for id, why := range response.Stop {
		if j := byID[id]; j != nil {
			j.run.Stop.Insist(why)
		}
	}
	for _, id := range response.Cancel {
		if j := byID[id]; j != nil {
			j.run.Stop.Ask("the server asked for it", true)
		}
	}
	for _, id := range response.Forget {
		if j := byID[id]; j != nil {
			j.run.Stop.Ask("the server no longer knows the run", true)
		}
	}
	if len(response.Remove) > 0 {
		go r.Area.Remove(response.Remove, r.Opts.Log)
	}
	for _, a := range response.Runs {
		if byID[a.ID] == nil && validID(a.ID) && !r.adoptShell(ctx, a.ID) {
			j := r.newJob(a.ID, a.Token)
			j.run.Given, j.turn.unplaced = a.Spec, true
			r.begin(j, func() { j.execute(ctx) })
		}
	}
}

// validID rejects ids that are paths.
func validID(id string) bool {
	return id != "" && id == filepath.Base(id) && id[0] != '.'
}

// begin runs a job on its own goroutine.
func (r *runner) begin(j *job, do func()) {
	r.lock.Lock()
	r.active[j.run.ID] = j
	if r.once() {
		r.terminated = true
		r.setDrain(true)
	}
	r.lock.Unlock()
	r.group.Add(1)
	go func() {
		defer r.group.Done()
		r.guard(j, do)
		j.init.ReleaseProviders()
		r.heal()
		j.turn.leavePlace()
		r.lock.Lock()
		before := r.capacity()
		delete(r.active, j.run.ID)
		j.turn.gone()
		// Also wake the poller when the last job, or a cancelled one, ends.
		tell := r.capacity() > before || r.drain || len(r.active) == 0 || j.run.Stop.Asked() != ""
		r.lock.Unlock()
		if tell {
			r.wake()
		}
	}()
}

// guard keeps a panic in one job from ending the others. It stops the job's tofu before others may
// use the directory, and keeps the spool for examination.
func (r *runner) guard(j *job, do func()) {
	defer func() {
		if problem := recover(); problem != nil {
			r.Opts.Log.Error("a run ended in a panic. This is a bug in Yuba.", "run", j.run.ID, "panic", problem, "stack", string(debug.Stack()))
			if p := j.run.Stop.Attached(); p != nil {
				p.Interrupt("its run ended in a panic, which is a bug in Yuba")
				p.Wait()
			}
			j.site.Unclaim()
			if j.site.Space != nil {
				j.site.Space.Close()
			}
		}
	}()
	do()
}

func (r *runner) jobs() []*job {
	out := make([]*job, 0, len(r.active))
	for _, j := range r.active {
		out = append(out, j)
	}
	return out
}
