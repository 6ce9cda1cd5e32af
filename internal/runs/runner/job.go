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

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/identity"
	"github.com/yuba-dev/yuba/internal/runs/runner/initstep"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/shell"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/steps"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
)

// job is one run that this runner executes.
type job struct {
	run     *execution.Run
	turn    *turn
	site    *execution.Site
	keeper  *statekeeper.Keeper
	program *supervisor.Supervisor
	locks   *supervisor.Locks
	init    *initstep.Step
	steps   *steps.Steps
	shell   *shell.Step
	// tokens are those by which the program logs in to clouds.
	tokens *identity.Tokens
}

func (r *runner) newJob(id, token string) *job {
	t := execution.New(r.Equipment, r.SpoolDir(id), id, token)
	j := &job{run: t, turn: &turn{run: t, r: r}, site: execution.NewSite(t)}
	j.keeper, j.tokens = statekeeper.New(t, j.site), identity.New(t, j.site)
	j.program = supervisor.New(t, j.site, j.keeper)
	j.locks = supervisor.NewLocks(t, j.site, j.program)
	j.init = initstep.New(t, j.site, j.keeper, j.program)
	j.steps = steps.New(t, j.site, j.keeper, j.program, j.locks, j.init, j.tokens, j.turn.aside)
	j.shell = shell.New(t, j.site, j.program, j.steps.MayApply)
	return j
}

// execute carries out a new run and delivers its result.
func (j *job) execute(ctx context.Context) {
	needed, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := j.accept(ctx, needed); err != nil {
		if link.Refused(err) != 0 {
			j.run.Opts.Log.Warn("the server withdrew a run", "run", j.run.ID, "error", err)
			j.discard()
		}
		return
	}
	if err := j.open(ctx, true); err != nil {
		var f *fault.Failure
		if !errors.As(err, &f) {
			f = &fault.Failure{Class: run.FailureDisk, Err: err}
		}
		f.Step = run.StepPrepare
		j.run.Fail(f)
	} else {
		j.runSteps(ctx)
	}
	j.steps.LookAround(ctx)
	j.conclude(ctx)
}

// runSteps carries out the operation.
func (j *job) runSteps(ctx context.Context) {
	j.run.RunSteps(ctx, j.steps.List(j.turn.awaitPlace, j.shell.Steps()))
}

// accept makes the job's directory and gets its spec. It prefetches the state until needed ends.
func (j *job) accept(ctx, needed context.Context) error {
	if j.run.Given != nil {
		j.run.Spec, j.run.Given = *j.run.Given, nil
	} else if _, err := j.run.Persist(ctx, link.Request{Method: http.MethodGet, Into: &j.run.Spec}); err != nil {
		return err
	}
	j.keeper.FetchAhead(needed)
	if err := j.run.Dir.Create(); err != nil {
		j.run.DiskProblem = err
		return nil // opening the log reports it
	}
	// The spec comes last, so if it exists, the token does, too.
	if err := errors.Join(os.WriteFile(j.run.Dir.Path(spool.TokenFile), []byte(j.run.Token), 0o600), j.run.Dir.WriteJSON(spool.SpecFile, j.run.Spec)); err != nil {
		j.run.DiskProblem = err
	}
	return nil
}

// open starts logging and shipping.
func (j *job) open(ctx context.Context, fresh bool) error {
	j.run.Mask = j.run.Spec.KnownSecrets().Masker(mask.Mark)
	noTokens := j.tokens.Open(ctx, fresh)
	log, err := spool.OpenLog(j.run.Dir.Path(spool.LogFile), j.run.Spec.Limits.LogBytes, j.run.Mask)
	if err != nil {
		return err
	}
	j.run.Log = log
	j.run.Logs = spool.ShipLog(ctx, log, fresh, j.program.Begun.Load, j.run.Persist)
	j.keeper.States = spool.KeepStates(ctx, j.run.Book, j.run.StateLimit(), j.sendState, j.run.Opts.Log.With("run", j.run.ID))
	j.sayConfinement()
	return noTokens
}

// conclude delivers states, log and result, in this order, then removes the spool directory. It
// holds the workspace until then: the next run must find a state that the server did not take.
func (j *job) conclude(ctx context.Context) {
	j.turn.end()
	j.tokens.Close()
	if j.run.Logs != nil {
		j.run.Logs.Hurry() // while the rest is tidied up
	}
	j.run.Complete()
	j.locks.NoteLock()
	if err := j.run.Dir.WriteJSON(spool.ResultFile, j.run.Result); err != nil {
		j.run.Opts.Log.Error("could not spool a result; sending it from memory", "run", j.run.ID, "error", err)
	} else { // nothing reads the output again, which the next runner would have to mask
		j.run.Dir.ForgetIdentityTokens()
	}
	tidy := j.keeper.States == nil || j.keeper.States.Stored()
	if tidy {
		j.tidyWorkspace()
	}
	j.shipRest()
	// Until here tofu's files were the second copy of states that fit on no disk.
	if !tidy && !j.keeper.States.InMemory() {
		j.tidyWorkspace()
	}
	j.deliver(ctx)
	if j.site.Space != nil {
		j.site.Space.Close()
		j.site.Space = nil
	}
}

// tidyWorkspace removes what the run leaves in the working directory.
func (j *job) tidyWorkspace() {
	if j.site.Space == nil {
		return
	}
	if j.program.Measured().Overflowed.Load() {
		if err := j.site.Space.DiscardTree(); err != nil {
			j.run.Opts.Log.Warn("cannot clear the working directory after a run", "run", j.run.ID, "error", err)
		}
	}
	j.site.Space.CleanUp(j.run.Journal.TempDir)
}

// shipRest waits until the server has taken or refused all states and the log.
func (j *job) shipRest() {
	if j.keeper.States == nil {
		return
	}
	var both sync.WaitGroup
	both.Go(j.keeper.States.Close)
	both.Go(j.run.Logs.Close)
	both.Wait()
	j.run.Log.Close()
}

// deliver sends the result after everything else. If ctx ends first, everything stays in the spool.
func (j *job) deliver(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	j.run.Lock()
	if why := j.run.Journal.StatesRefused; why != "" && j.run.Result.Class != run.FailureState {
		j.run.Result.Outcome, j.run.Result.Class = run.OutcomeFailed, run.FailureState
		j.run.Result.FailedStep = run.StepApply
		j.run.Result.Error = execution.JoinText(j.run.Result.Error, "store the state: "+why)
	}
	j.run.Unlock()
	if j.keeper.States != nil && j.run.Unsent() {
		j.run.AddWarning("The runner keeps states that the server did not take, unencrypted, in " + j.run.OrphanDir(j.run.ID))
	}
	_, err := j.run.Persist(ctx, link.Request{Method: http.MethodPost, Path: "/result", Body: execution.Encode(j.run.Result)})
	switch {
	case err != nil && link.Refused(err) == 0:
		return // the next runner delivers it
	case err != nil:
		j.run.Opts.Log.Warn("the server rejected a result", "run", j.run.ID, "error", err)
	}
	if j.run.Unsent() {
		j.orphan()
		return
	}
	j.discard()
}

// orphan keeps the states that the server did not take.
func (j *job) orphan() {
	j.run.Dir.ForgetIdentityTokens()
	target := j.run.OrphanDir(j.run.ID)
	if err := os.Rename(j.run.Dir.Root, target); err != nil {
		j.run.Opts.Log.Error("states that the server did not accept stay in the spool", "run", j.run.ID, "error", err)
		return
	}
	j.run.Opts.Log.Error("kept states that the server did not accept", "run", j.run.ID, "stack", j.run.Spec.Stack.String(), "directory", target)
}

func (j *job) discard() {
	if err := os.RemoveAll(j.run.Dir.Root); err != nil {
		j.run.Opts.Log.Error("cannot remove a finished run's directory", "run", j.run.ID, "error", err)
	}
}

// sendState gives a state to the server.
func (j *job) sendState(ctx context.Context, sequence int, state []byte) error {
	_, err := j.run.Persist(ctx, link.Request{Method: http.MethodPut, Path: "/state", Body: state, Stuck: j.turn.stall,
		Header: map[string]string{run.HeaderSequence: fmt.Sprint(sequence)}})
	return err
}
