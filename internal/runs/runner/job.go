// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// job is one run in this runner's hands.
type job struct {
	*runner
	*spool.Book
	id    string
	token string
	spec  run.Spec
	// offered is the state file that was read last.
	offered fileStamp
	// given is the spec that came with the run, nil from a server that waits to be asked.
	given *run.Spec
	// ahead brings the state that was asked for before it is needed; nil when none was.
	ahead chan fetchedState

	mask   *mask.Masker
	log    *spool.Log
	logs   *spool.LogShipper
	states *spool.States
	space  *workspace
	// claim gives back the workspace's lock, when it was taken before the workspace was opened.
	claim func()
	stop  stopper
	// placed is true while the job has one of the runner's places, since placedAt; ending once it needs none any more.
	placed, ending bool
	placedAt       time.Time
	// stuck is true while its state waits for a person. The runner's lock guards it and ending.
	stuck bool
	// unplaced is true for a job that the server gave until it has had a place. The runner's lock guards it.
	unplaced bool
	// initState is how far init has come; initKey names what this run's init depends on, empty when that is not known.
	initState initflow.State
	initKey   string
	// direct is true once the run plans and applies with one process, nothingDone when that came to nothing; begun once
	// that process has begun to change something.
	direct, nothingDone bool
	begun               atomic.Bool
	// subject is the run as the meter knows it, nil before its first process.
	subject *meter.Subject
	// alone is true for a finished run of a runner before that is the only one of its stack in the spool.
	alone bool
	// orderly are the steps whose last process ended in good order.
	orderly map[run.Step]bool
	// stateFetched is the status with which the server answered the question for the state.
	stateFetched int
	// scoped is which part of that store is its own.
	scoped scoped
	// providing is what the job has from the store of providers.
	providing providing
	// used is what it has from the store of modules.
	used moduleUse
	// initSaid are the warnings of init.
	initSaid diagnostic.List

	result run.Result
	// held is the plan that is shown and applied.
	held heldPlan
	// apply is what the apply process said; its counts and creations go to the result.
	apply *plan.Stream
	// givenState is the digest of the state that the server gave, see run.ContinueRequest.
	givenState string
	// rescuedState is a state that tofu could not store where it belongs.
	rescuedState []byte
	// logStart is how long the log was when the running process was started.
	logStart int64
	// doubt says why lines of the last process's output may be missing; empty when it was read whole. reserve is how much
	// disk space is set aside ahead of the running process's output, secured up to where there is some.
	doubt            string
	reserve, secured int64
	// terminal is the person's whose shell this is, nil for all other runs.
	terminal *Terminal
}

func (r *runner) newJob(id, token string) *job {
	j := &job{runner: r, id: id, token: token, Book: spool.NewBook(r.spoolDir(id)), orderly: map[run.Step]bool{}}
	j.result.Confined = r.walls.Complete()
	return j
}

func (j *job) persist(ctx context.Context, r link.Request) (int, error) {
	r.Token, r.Path = j.token, "/runs/"+j.id+r.Path
	return j.server.Persist(ctx, r)
}

// execute carries a fresh run out and delivers its result.
func (j *job) execute(ctx context.Context) {
	needed, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := j.accept(ctx, needed); err != nil {
		if link.Refused(err) != 0 {
			j.opts.Log.Warn("the server took a run back", "run", j.id, "error", err)
			j.discard()
		}
		return
	}
	if err := j.open(ctx, true); err != nil {
		j.fail(&fault.Failure{Step: run.StepPrepare, Class: run.FailureDisk, Err: err})
	} else {
		j.runSteps(ctx, j.steps())
	}
	j.lookAround(ctx)
	j.conclude(ctx)
}

// accept makes the job's directory and gets its spec. The state is asked for at once, as long as needed lasts.
func (j *job) accept(ctx, needed context.Context) error {
	if j.given != nil {
		j.spec, j.given = *j.given, nil
	} else if _, err := j.persist(ctx, link.Request{Method: http.MethodGet, Into: &j.spec}); err != nil {
		return err
	}
	j.fetchAhead(needed)
	if err := j.Dir.Create(); err != nil {
		j.DiskProblem = err
		return nil // opening the log says so to the server
	}
	// The spec comes last, and whole: who finds it finds the token, too.
	if err := errors.Join(os.WriteFile(j.Dir.Path(spool.TokenFile), []byte(j.token), 0o600), j.Dir.WriteJSON(spool.SpecFile, j.spec)); err != nil {
		j.DiskProblem = err
	}
	return nil
}

// open starts logging and shipping.
func (j *job) open(ctx context.Context, fresh bool) error {
	j.mask = j.spec.KnownSecrets().Masker(mask.Mark)
	log, err := spool.OpenLog(j.Dir.Path(spool.LogFile), j.spec.Limits.LogBytes, j.mask)
	if err != nil {
		return err
	}
	j.log = log
	j.logs = spool.ShipLog(ctx, log, fresh, j.begun.Load, j.persist)
	j.states = spool.KeepStates(ctx, j.Book, j.stateLimit(), j.sendState, j.opts.Log.With("run", j.id))
	j.sayConfinement()
	return nil
}

// warn puts a warning of the runner's own into log and result.
func (j *job) warn(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	j.log.Warn("%s", message)
	j.addWarning(message)
}

const maxWarnings = 32

func (j *job) addWarning(text string) {
	if len(j.result.Warnings) < maxWarnings {
		j.result.Warnings = append(j.result.Warnings, j.mask.Text(text))
	}
}

// conclude ends the run: states first, then the log, then the result, and the directory is gone. The workspace is held until
// then: a server that lost its record of the run may begin the next one, which must find a state that nobody took.
func (j *job) conclude(ctx context.Context) {
	j.end()
	if j.logs != nil {
		j.logs.Hurry() // while the rest is being tidied up
	}
	j.complete()
	j.noteLock()
	if err := j.Dir.WriteJSON(spool.ResultFile, j.result); err != nil {
		j.opts.Log.Error("a result could not be spooled; it is sent from memory", "run", j.id, "error", err)
	}
	tidy := j.states == nil || j.states.Stored()
	if tidy {
		j.tidyWorkspace()
	}
	j.shipRest()
	// States that fit on no disk were with this process only until now: the files tofu wrote were the second copy.
	if !tidy && !j.states.InMemory() {
		j.tidyWorkspace()
	}
	j.deliver(ctx)
	if j.space != nil {
		j.space.close()
		j.space = nil
	}
}

// tidyWorkspace removes what the run leaves in the working directory.
func (j *job) tidyWorkspace() {
	if j.space == nil {
		return
	}
	if j.measured().Overflowed.Load() {
		if err := j.space.discardTree(); err != nil {
			j.opts.Log.Warn("clear what a run wrote", "run", j.id, "error", err)
		}
	}
	j.space.cleanUp(j.Journal.TempDir)
}

// shipRest waits until the server has all states and the log, or has refused them.
func (j *job) shipRest() {
	if j.states == nil {
		return
	}
	var both sync.WaitGroup
	both.Go(j.states.Close)
	both.Go(j.logs.Close)
	both.Wait()
	j.log.Close()
}

// deliver sends the result, when everything else is with the server. When ctx ends first everything stays in the spool.
func (j *job) deliver(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	j.Lock()
	if why := j.Journal.StatesRefused; why != "" && j.result.Class != run.FailureState {
		j.result.Outcome, j.result.Class = run.OutcomeFailed, run.FailureState
		j.result.FailedStep = run.StepApply
		j.result.Error = joinText(j.result.Error, "store the state: "+why)
	}
	j.Unlock()
	if j.states != nil && j.Unsent() {
		j.addWarning("States that the server did not take are kept, unencrypted, in " + j.orphanDir(j.id))
	}
	_, err := j.persist(ctx, link.Request{Method: http.MethodPost, Path: "/result", Body: mustJSON(j.result)})
	switch {
	case err != nil && link.Refused(err) == 0:
		return // the next runner delivers it
	case err != nil:
		j.opts.Log.Warn("the server does not want a result any more", "run", j.id, "error", err)
	}
	if j.Unsent() {
		j.orphan()
		return
	}
	j.discard()
}

// orphan keeps the states that no server took.
func (j *job) orphan() {
	target := j.orphanDir(j.id)
	if err := os.Rename(j.Dir.Root, target); err != nil {
		j.opts.Log.Error("states that the server does not want stay in the spool", "run", j.id, "error", err)
		return
	}
	j.opts.Log.Error("kept states that the server did not take", "run", j.id, "stack", j.spec.Stack.String(), "directory", target)
}

func (j *job) discard() {
	if err := os.RemoveAll(j.Dir.Root); err != nil {
		j.opts.Log.Error("remove a finished run's directory", "run", j.id, "error", err)
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

func (j *job) now() time.Time { return time.Now().UTC() }

// order is for the run's working directory.
func (j *job) order() order {
	return order{stack: j.spec.Stack, path: j.spec.Path, workspace: j.spec.Workspace, own: j.spec.Backend.Kind == run.BackendOwn}
}

// takeClaim hands the workspace's lock over, nil when the job has none.
func (j *job) takeClaim() func() {
	claim := j.claim
	j.claim = nil
	return claim
}

// measured is the run as the meter knows it.
func (j *job) measured() *meter.Subject {
	if j.subject == nil {
		j.subject = meter.NewSubject(j.id, &j.spec, j.heldStates)
	}
	return j.subject
}

// heldStates is how many bytes of states are in memory for want of a disk.
func (j *job) heldStates() int64 {
	if j.states == nil {
		return 0
	}
	return j.states.Held()
}

// measuredDirs are the directories that count as the run's: where its programs write, and the spool.
func (j *job) measuredDirs() []string { return append(j.space.places(), j.Dir.Root) }

// stateLimit is the size of the largest state that the server takes.
func (j *job) stateLimit() int64 {
	return orDefault(j.spec.Limits.StateBytes, run.DefaultLimits().StateBytes)
}

// sendState gives a state to the server.
func (j *job) sendState(ctx context.Context, sequence int, state []byte) error {
	_, err := j.persist(ctx, link.Request{Method: http.MethodPut, Path: "/state", Body: state, Stuck: j.stall,
		Header: map[string]string{run.HeaderSequence: fmt.Sprint(sequence)}})
	return err
}
