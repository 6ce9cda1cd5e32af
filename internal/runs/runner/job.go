// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// job is one run in this runner's hands: its parts, and the order in which they work.
type job struct {
	task    *task
	turn    *turn
	site    *site
	keeper  *stateKeeper
	program *supervisor
	locks   *lockKeeper
	init    *initStep
	steps   *allSteps
	shell   *shellStep
}

func (r *runner) newJob(id, token string) *job {
	t := newTask(r.equipment, r.spoolDir(id), id, token)
	j := &job{task: t, turn: &turn{task: t, r: r}, site: newSite(t)}
	j.keeper = newStateKeeper(t, j.site)
	j.program = newSupervisor(t, j.site, j.keeper)
	j.locks = newLockKeeper(t, j.site, j.program)
	j.init = newInitStep(t, j.site, j.keeper, j.program)
	j.steps = newSteps(t, j.site, j.keeper, j.program, j.locks, j.init, j.turn.aside)
	j.shell = newShellStep(t, j.site, j.program, j.steps.mayApply)
	return j
}

func (t *task) persist(ctx context.Context, r link.Request) (int, error) {
	r.Token, r.Path = t.token, "/runs/"+t.id+r.Path
	return t.server.Persist(ctx, r)
}

// execute carries a fresh run out and delivers its result.
func (j *job) execute(ctx context.Context) {
	needed, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := j.accept(ctx, needed); err != nil {
		if link.Refused(err) != 0 {
			j.task.opts.Log.Warn("the server took a run back", "run", j.task.id, "error", err)
			j.discard()
		}
		return
	}
	if err := j.open(ctx, true); err != nil {
		j.task.fail(&fault.Failure{Step: run.StepPrepare, Class: run.FailureDisk, Err: err})
	} else {
		j.runSteps(ctx)
	}
	j.steps.lookAround(ctx)
	j.conclude(ctx)
}

// runSteps carries out the operation.
func (j *job) runSteps(ctx context.Context) {
	j.task.runSteps(ctx, j.steps.list(j.turn.awaitPlace, j.shell.shellSteps()))
}

// accept makes the job's directory and gets its spec. The state is asked for at once, as long as needed lasts.
func (j *job) accept(ctx, needed context.Context) error {
	if j.task.given != nil {
		j.task.spec, j.task.given = *j.task.given, nil
	} else if _, err := j.task.persist(ctx, link.Request{Method: http.MethodGet, Into: &j.task.spec}); err != nil {
		return err
	}
	j.keeper.fetchAhead(needed)
	if err := j.task.Dir.Create(); err != nil {
		j.task.DiskProblem = err
		return nil // opening the log says so to the server
	}
	// The spec comes last, and whole: who finds it finds the token, too.
	if err := errors.Join(os.WriteFile(j.task.Dir.Path(spool.TokenFile), []byte(j.task.token), 0o600), j.task.Dir.WriteJSON(spool.SpecFile, j.task.spec)); err != nil {
		j.task.DiskProblem = err
	}
	return nil
}

// open starts logging and shipping.
func (j *job) open(ctx context.Context, fresh bool) error {
	j.task.mask = j.task.spec.KnownSecrets().Masker(mask.Mark)
	log, err := spool.OpenLog(j.task.Dir.Path(spool.LogFile), j.task.spec.Limits.LogBytes, j.task.mask)
	if err != nil {
		return err
	}
	j.task.log = log
	j.task.logs = spool.ShipLog(ctx, log, fresh, j.program.begun.Load, j.task.persist)
	j.keeper.states = spool.KeepStates(ctx, j.task.Book, j.task.stateLimit(), j.sendState, j.task.opts.Log.With("run", j.task.id))
	j.sayConfinement()
	return nil
}

// warn puts a warning of the runner's own into log and result.
func (t *task) warn(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	t.log.Warn("%s", message)
	t.addWarning(message)
}

const maxWarnings = 32

func (t *task) addWarning(text string) {
	if len(t.result.Warnings) < maxWarnings {
		t.result.Warnings = append(t.result.Warnings, t.mask.Text(text))
	}
}

// conclude ends the run: states first, then the log, then the result, and the directory is gone. The workspace is held until
// then: a server that lost its record of the run may begin the next one, which must find a state that nobody took.
func (j *job) conclude(ctx context.Context) {
	j.turn.end()
	if j.task.logs != nil {
		j.task.logs.Hurry() // while the rest is being tidied up
	}
	j.task.complete()
	j.locks.noteLock()
	if err := j.task.Dir.WriteJSON(spool.ResultFile, j.task.result); err != nil {
		j.task.opts.Log.Error("a result could not be spooled; it is sent from memory", "run", j.task.id, "error", err)
	}
	tidy := j.keeper.states == nil || j.keeper.states.Stored()
	if tidy {
		j.tidyWorkspace()
	}
	j.shipRest()
	// States that fit on no disk were with this process only until now: the files tofu wrote were the second copy.
	if !tidy && !j.keeper.states.InMemory() {
		j.tidyWorkspace()
	}
	j.deliver(ctx)
	if j.site.space != nil {
		j.site.space.Close()
		j.site.space = nil
	}
}

// tidyWorkspace removes what the run leaves in the working directory.
func (j *job) tidyWorkspace() {
	if j.site.space == nil {
		return
	}
	if j.program.measured().Overflowed.Load() {
		if err := j.site.space.DiscardTree(); err != nil {
			j.task.opts.Log.Warn("clear what a run wrote", "run", j.task.id, "error", err)
		}
	}
	j.site.space.CleanUp(j.task.Journal.TempDir)
}

// shipRest waits until the server has all states and the log, or has refused them.
func (j *job) shipRest() {
	if j.keeper.states == nil {
		return
	}
	var both sync.WaitGroup
	both.Go(j.keeper.states.Close)
	both.Go(j.task.logs.Close)
	both.Wait()
	j.task.log.Close()
}

// deliver sends the result, when everything else is with the server. When ctx ends first everything stays in the spool.
func (j *job) deliver(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	j.task.Lock()
	if why := j.task.Journal.StatesRefused; why != "" && j.task.result.Class != run.FailureState {
		j.task.result.Outcome, j.task.result.Class = run.OutcomeFailed, run.FailureState
		j.task.result.FailedStep = run.StepApply
		j.task.result.Error = joinText(j.task.result.Error, "store the state: "+why)
	}
	j.task.Unlock()
	if j.keeper.states != nil && j.task.Unsent() {
		j.task.addWarning("States that the server did not take are kept, unencrypted, in " + j.task.orphanDir(j.task.id))
	}
	_, err := j.task.persist(ctx, link.Request{Method: http.MethodPost, Path: "/result", Body: mustJSON(j.task.result)})
	switch {
	case err != nil && link.Refused(err) == 0:
		return // the next runner delivers it
	case err != nil:
		j.task.opts.Log.Warn("the server does not want a result any more", "run", j.task.id, "error", err)
	}
	if j.task.Unsent() {
		j.orphan()
		return
	}
	j.discard()
}

// orphan keeps the states that no server took.
func (j *job) orphan() {
	target := j.task.orphanDir(j.task.id)
	if err := os.Rename(j.task.Dir.Root, target); err != nil {
		j.task.opts.Log.Error("states that the server does not want stay in the spool", "run", j.task.id, "error", err)
		return
	}
	j.task.opts.Log.Error("kept states that the server did not take", "run", j.task.id, "stack", j.task.spec.Stack.String(), "directory", target)
}

func (j *job) discard() {
	if err := os.RemoveAll(j.task.Dir.Root); err != nil {
		j.task.opts.Log.Error("remove a finished run's directory", "run", j.task.id, "error", err)
	}
}

// stopper holds at most one wish to stop, and the process it is to reach.
type stopper struct {
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

// ask wishes the job to stop. With spareApply an apply that has begun to change something goes on to its end.
func (s *stopper) ask(reason string, spareApply bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askLocked(reason, spareApply)
}

// insist is a person's wish to stop, whatever is going on. It takes the place of a wish before it.
func (s *stopper) insist(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.person {
		return
	}
	s.person = true
	s.askLocked(reason, false)
}

func (s *stopper) askLocked(reason string, spareApply bool) {
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

// attach makes p the process that a wish reaches; a wish that came before reaches it at once.
func (s *stopper) attach(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p != nil && s.reason != "" && !(s.spare && p.Changes()) {
		p.Interrupt(s.reason)
	}
}

// attached is the process that a wish would reach, nil without one.
func (s *stopper) attached() *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// until returns a context that ends with the first wish, for waiting that changes nothing.
func (s *stopper) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wished = cancel
	if s.reason != "" {
		cancel()
	}
	return ctx, cancel
}

func (s *stopper) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// byPerson says whether the wish is a person's.
func (s *stopper) byPerson() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.person
}

func (t *task) now() time.Time { return time.Now().UTC() }

// order is for the run's working directory.
func (s *site) order() workspace.Order {
	return workspace.Order{Stack: s.task.spec.Stack, Path: s.task.spec.Path, Workspace: s.task.spec.Workspace, Own: s.task.spec.Backend.Kind == run.BackendOwn}
}

// takeClaim hands the workspace's lock over, nil when the job has none.
func (s *site) takeClaim() func() {
	claim := s.claim
	s.claim = nil
	return claim
}

// measured is the run as the meter knows it.
func (g *supervisor) measured() *meter.Subject {
	if g.subject == nil {
		g.subject = meter.NewSubject(g.task.id, &g.task.spec, g.keeper.heldStates)
	}
	return g.subject
}

// heldStates is how many bytes of states are in memory for want of a disk.
func (k *stateKeeper) heldStates() int64 {
	if k.states == nil {
		return 0
	}
	return k.states.Held()
}

// measuredDirs are the directories that count as the run's: where its programs write, and the spool.
func (s *site) measuredDirs() []string { return append(s.space.Places(), s.task.Dir.Root) }

// stateLimit is the size of the largest state that the server takes.
func (t *task) stateLimit() int64 {
	return cmp.Or(max(0, t.spec.Limits.StateBytes), run.DefaultLimits().StateBytes)
}

// sendState gives a state to the server.
func (j *job) sendState(ctx context.Context, sequence int, state []byte) error {
	_, err := j.task.persist(ctx, link.Request{Method: http.MethodPut, Path: "/state", Body: state, Stuck: j.turn.stall,
		Header: map[string]string{run.HeaderSequence: fmt.Sprint(sequence)}})
	return err
}

// planLimit is the size of the largest plan that the server takes.
func (s *planStep) planLimit() int64 {
	return cmp.Or(max(0, s.task.spec.Limits.PlanBytes), run.DefaultLimits().PlanBytes)
}
