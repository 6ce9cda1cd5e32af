// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Step carries out the actions that package initflow decides on.
type Step struct {
	run       *execution.Run
	site      *execution.Site
	keeper    *statekeeper.Keeper
	program   *supervisor.Supervisor
	downloads *downloads
	modules   *moduleStep
	providers *providerStep
	// initKey identifies everything that init depends on; empty if unknown.
	initState initflow.State
	initKey   string
}

// New returns the step, and lets the supervisor's programs execute the providers that init links.
func New(t *execution.Run, at *execution.Site, keeper *statekeeper.Keeper, program *supervisor.Supervisor) *Step {
	d := &downloads{run: t, site: at}
	m := &moduleStep{run: t, site: at, program: program, downloads: d}
	program.Mirrors = d.mirrors
	return &Step{run: t, site: at, keeper: keeper, program: program, downloads: d, modules: m,
		providers: &providerStep{run: t, site: at, program: program, downloads: d, modules: m}}
}

// Init makes the working directory ready for the tool.
func (s *Step) Init(ctx context.Context) error {
	w := s.site.Space
	intact, err := s.checkInit()
	if err != nil {
		return err
	}
	same := intact && !s.run.Spec.Upgrade && w.Record.Init == s.initDigest(s.run.Spec.LockFile)
	return s.driveInit(ctx, initflow.Event{Kind: initflow.Looked,
		Unchanged: same && (w.Record.Unproven == "" || s.planComes()), Unproven: w.Record.Unproven != ""})
}

// errLostInit is the result if initflow has no transition for an event.
var errLostInit = errors.New("init has no next action. This is a bug in Yuba")

// driveInit carries out actions until init has ended.
func (s *Step) driveInit(ctx context.Context, event initflow.Event) error {
	last, err := drive(&s.initState, event, func(a initflow.Action) (initflow.Event, error) { return s.actInit(ctx, a) })
	switch last {
	case initflow.Reuse:
		return s.reuseInit()
	case initflow.Skip:
		return s.skipPlan()
	}
	return err
}

// drive carries out actions until one ends init, and returns that one. An error counts as Broke, even
// beside another event, unless a program failed.
func drive(state *initflow.State, event initflow.Event, act func(initflow.Action) (initflow.Event, error)) (last initflow.Action, err error) {
	for {
		*state, last = initflow.Next(*state, event)
		switch last {
		case initflow.Finish, initflow.Reuse, initflow.Skip:
			return last, nil
		case initflow.Fail:
			return last, cmp.Or(err, errLostInit)
		}
		if event, err = act(last); err != nil && event.Kind != initflow.ToolFailed {
			event = initflow.Event{Kind: initflow.Broke}
		}
	}
}

// actInit carries out one action.
func (s *Step) actInit(ctx context.Context, action initflow.Action) (initflow.Event, error) {
	done := initflow.Event{Kind: initflow.Done}
	switch action {
	case initflow.Hold:
		if !s.site.Space.Initialised() || !s.providers.keepProviders() {
			return initflow.Event{Kind: initflow.Gone}, nil
		}
		return done, nil
	case initflow.Prepare:
		return s.prepareInit(ctx)
	case initflow.Replay:
		return s.replayInit()
	case initflow.Record:
		return done, s.recordInit()
	case initflow.Keep:
		s.keep(s.initKey)
		return done, nil
	case initflow.Undo:
		return done, s.undoReplay(ctx)
	case initflow.Select:
		return s.endInit(s.selectWorkspace(ctx))
	case initflow.RunWithState:
		return s.runInitWithState(ctx)
	}
	if err := s.beforeInit(action); err != nil {
		return initflow.Event{}, err
	}
	return s.runInit(ctx)
}

// reuseInit uses the result of the last init.
func (s *Step) reuseInit() error {
	s.run.Log.Note("Init: nothing has changed since the last one")
	s.run.Result.Init = run.InitUnchanged
	s.tellModules()
	s.tellUses(false)
	return s.reportLockFile()
}

// skipPlan ends a run that plans only if modules have changed.
func (s *Step) skipPlan() error {
	s.run.Log.Note("Modules: the same as with the last plan, and nothing else has changed. There is nothing to plan")
	s.run.Result.SameModules = true
	return cmp.Or(s.site.Space.Save(), execution.ErrFinished)
}

// prepareInit puts the lock file, and modules and providers of the stores, in place.
func (s *Step) prepareInit(ctx context.Context) (initflow.Event, error) {
	w := s.site.Space
	if w.Record.Init != "" {
		w.Record.Init = ""
		if err := w.Save(); err != nil {
			return initflow.Event{}, err
		}
	}
	if err := s.freshLockFile(); err != nil {
		return initflow.Event{}, err
	}
	if err := s.modules.placeModules(ctx); err != nil {
		return initflow.Event{}, err
	}
	if s.modules.sameModules() {
		return initflow.Event{Kind: initflow.Done, SameModules: true}, nil
	}
	if err := s.providers.provide(ctx); err != nil {
		return initflow.Event{}, err
	}
	var why string
	if s.initKey, why = s.keepKey(); s.initKey == "" {
		s.run.Opts.Log.Debug("other stacks cannot share this init", "run", s.run.ID, "why", why)
	}
	return initflow.Event{Kind: initflow.Done, Shareable: s.initKey != ""}, nil
}

// replayInit replays another stack's init, if there is one.
func (s *Step) replayInit() (initflow.Event, error) {
	replayed, err := s.replay(s.initKey)
	if err != nil || !replayed {
		return initflow.Event{Kind: initflow.Gone, Unpacked: s.site.Space.Unpacked}, err
	}
	s.run.Log.Note("Init: reused an earlier result for the same requirements")
	s.run.Result.Init, s.site.Space.Record.Unproven = run.InitReplayed, s.initKey
	return initflow.Event{Kind: initflow.Done}, nil
}

// BlamesInit reports whether the first process after a replay failed in a way that init might have
// prevented: with an error without a resource.
func (s *Step) BlamesInit(stream *plan.Stream, e process.Exit) bool {
	if !s.initState.Replayed || e.Signal != 0 || e.Interrupted != "" || e.Code != 1 {
		return false
	}
	return slices.ContainsFunc(stream.Errors(), func(d diagnostic.Diagnostic) bool { return d.Address == "" })
}

// ProveInit records that a process succeeded with a replayed init.
func (s *Step) ProveInit(e process.Exit) error {
	if !s.initState.Replayed || !e.Known || e.Signal != 0 || e.Code == 1 {
		return nil
	}
	s.site.Space.Record.Unproven = ""
	return s.site.Space.Save()
}

// InitAfterAll runs init instead of the replay, without the state in place.
func (s *Step) InitAfterAll(ctx context.Context) error {
	w := s.site.Space
	s.run.Log.Note("Plan failed with cached init; re-running init and retrying")
	state, err := w.Read(w.InModule(w.StateIn()), statekeeper.MaxState)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(run.FailureState, "re-run init: read the state: %w", err)
	}
	if err := s.driveInit(ctx, initflow.Event{Kind: initflow.PlanFailed}); err != nil {
		return ofInit(err)
	}
	if !there {
		return nil
	}
	if err := w.Root.MkdirAll(path.Dir(w.InModule(w.StateIn())), 0o700); err != nil {
		return fault.New(fault.DiskClass(err), "place the state: %w", err)
	}
	return w.Write(w.InModule(w.StateIn()), state)
}

// ofInit attributes a failure in another step to init.
func ofInit(err error) error {
	var f *fault.Failure
	if errors.As(err, &f) && f.Step == "" {
		f.Step = run.StepInit
	}
	return err
}

// undoReplay removes a replayed init, here and from the cache, and prepares a run of init.
func (s *Step) undoReplay(ctx context.Context) error {
	w := s.site.Space
	s.run.Inits.Drop(w.Record.Unproven)
	w.Record.Init = ""
	if err := errors.Join(w.Save(), w.Remove(workspace.DataDirTF, workspace.StateName, workspace.StatesName), s.freshLockFile()); err != nil {
		return err
	}
	return s.providers.provide(ctx)
}
