// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// init makes the working directory ready for the tool. What it does next is decided by package initflow.
func (s *initStep) init(ctx context.Context) error {
	w := s.site.space
	intact, err := s.checkInit()
	if err != nil {
		return err
	}
	same := intact && !s.task.spec.Upgrade && w.Record.Init == s.initDigest(s.task.spec.LockFile)
	return s.driveInit(ctx, initflow.Event{Kind: initflow.Looked,
		Unchanged: same && (w.Record.Unproven == "" || s.planComes()), Unproven: w.Record.Unproven != ""})
}

// errLostInit is what init ends with when the machine has no next step for what happened.
var errLostInit = errors.New("init does not know how to go on. This is a bug in Yuba")

// driveInit acts as the machine decides until init has ended.
func (s *initStep) driveInit(ctx context.Context, event initflow.Event) error {
	var problem error
	for {
		var action initflow.Action
		s.initState, action = initflow.Next(s.initState, event)
		switch action {
		case initflow.Finish:
			return nil
		case initflow.Reuse:
			return s.reuseInit()
		case initflow.Skip:
			return s.skipPlan()
		case initflow.Fail:
			return cmp.Or(problem, errLostInit)
		}
		if event, problem = s.actInit(ctx, action); problem != nil && event.Kind == "" {
			event.Kind = initflow.Broke
		}
	}
}

// actInit carries out one action and says what came of it. An error without a kind of event is not the program's.
func (s *initStep) actInit(ctx context.Context, action initflow.Action) (initflow.Event, error) {
	done := initflow.Event{Kind: initflow.Done}
	switch action {
	case initflow.Hold:
		if !s.site.space.Initialised() || !s.providers.keepProviders() {
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

// reuseInit goes on with what the last init left.
func (s *initStep) reuseInit() error {
	s.task.log.Note("Init: nothing has changed since the last one")
	s.task.result.Init = run.InitUnchanged
	s.tellModules()
	return s.reportLockFile()
}

// skipPlan ends a run that was to plan only if modules have moved.
func (s *initStep) skipPlan() error {
	s.task.log.Note("Modules: the same as with the last plan, and nothing else has changed. There is nothing to plan")
	s.task.result.SameModules = true
	return cmp.Or(s.site.space.Save(), errFinished)
}

// prepareInit puts in place what init starts from: the lock file, and the modules and providers of the stores.
func (s *initStep) prepareInit(ctx context.Context) (initflow.Event, error) {
	w := s.site.space
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
		s.task.opts.Log.Debug("init is for this run alone", "run", s.task.id, "why", why)
	}
	return initflow.Event{Kind: initflow.Done, Shareable: s.initKey != ""}, nil
}

// replayInit puts a kept init in place, if there is one.
func (s *initStep) replayInit() (initflow.Event, error) {
	replayed, err := s.replay(s.initKey)
	if err != nil || !replayed {
		return initflow.Event{Kind: initflow.Gone, Unpacked: s.site.space.Unpacked}, err
	}
	s.task.log.Note("Init: as for the same requirements before")
	s.task.result.Init, s.site.space.Record.Unproven = run.InitReplayed, s.initKey
	return initflow.Event{Kind: initflow.Done}, nil
}

// blamesInit tells whether the process, the first one after a replay, failed in a way that init might have reported or
// prevented: with an error that is not a resource's.
func (s *initStep) blamesInit(stream *plan.Stream, e process.Exit) bool {
	if !s.initState.Replayed || e.Signal != 0 || e.Interrupted != "" || e.Code != 1 {
		return false
	}
	return slices.ContainsFunc(stream.Errors(), func(d diagnostic.Diagnostic) bool { return d.Address == "" })
}

// proveInit notes that a process succeeded with a replayed init.
func (s *initStep) proveInit(e process.Exit) error {
	if !s.initState.Replayed || !e.Known || e.Signal != 0 || e.Code == 1 {
		return nil
	}
	s.site.space.Record.Unproven = ""
	return s.site.space.Save()
}

// initAfterAll runs the init that a replay stood in for. The state is put away meanwhile (see steps).
func (s *initStep) initAfterAll(ctx context.Context) error {
	w := s.site.space
	s.task.log.Note("Plan failed with cached init; re-running init and retrying")
	state, err := w.Read(w.InModule(w.StateIn()), maxState)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(run.FailureState, "run init after all: read the state: %w", err)
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

// ofInit says that a failure in another step is init's.
func ofInit(err error) error {
	var f *fault.Failure
	if errors.As(err, &f) && f.Step == "" {
		f.Step = run.StepInit
	}
	return err
}

// undoReplay removes a kept init that did not work, here and from memory, and prepares for a run of init.
func (s *initStep) undoReplay(ctx context.Context) error {
	w := s.site.space
	s.task.inits.drop(w.Record.Unproven)
	w.Record.Init = ""
	if err := errors.Join(w.Save(), w.Remove(workspace.DataDirTF, workspace.StateName, workspace.StatesName), s.freshLockFile()); err != nil {
		return err
	}
	return s.providers.provide(ctx)
}

// beforeInit does what comes before a run of init.
func (s *initStep) beforeInit(action initflow.Action) error {
	w := s.site.space
	switch action {
	case initflow.ForgetBackend:
		s.task.log.Note("Init: again, with the new backend alone")
		return w.ForgetBackend()
	case initflow.RunEmpty: // so that what is there afterwards is of this init alone
		if err := w.Remove(workspace.DataDirTF); err != nil {
			return err
		}
	case initflow.WithdrawModules:
		if err := s.modules.withdrawModules(); err != nil {
			return err
		}
	case initflow.WithdrawProviders:
		if err := s.providers.withdrawProviders(); err != nil {
			return err
		}
	}
	s.task.result.Init, w.Record.Unproven = run.InitRan, ""
	// Key providers, backends, git and ssh may run commands of the stack. That counts even if this init fails.
	programs := w.Own || len(s.task.spec.CLIConfig) > 0 || fetch.StartsPrograms(s.task.spec.Env, s.modules.homeFiles()) != "" || s.site.mayEncrypt()
	if programs != w.Record.Programs {
		if w.Record.Programs = programs; programs {
			if err := w.Save(); err != nil {
				return err
			}
		}
	}
	s.task.log.Note("Init: %s %s", w.Tool.Name, w.Tool.Version)
	switch {
	case !w.Own: // the state is here, so init must not ask about where it was kept before
		return w.ForgetBackend()
	case w.Named == "default": // an earlier run may have selected another one
		return w.Remove(workspace.SelectedName)
	}
	return nil
}

// initArgs are the arguments of init, but for the backend's settings.
func (s *initStep) initArgs() []string {
	args := []string{"init", "-input=false", "-no-color"}
	if s.site.space.Tool.JSONInit() {
		args = append(args, "-json")
	}
	return args
}

// runInit runs the program.
func (s *initStep) runInit(ctx context.Context) (initflow.Event, error) {
	args := s.initArgs()
	if s.task.spec.Upgrade && !s.providers.providing.complete { // else the newest are known, and in the lock file
		args = append(args, "-upgrade")
		if s.modules.used.complete { // else it downloads modules anew that were resolved a moment ago
			args = append(args, "-get=false")
		}
	}
	settings, removeSettings, err := s.placeSettings()
	if err != nil {
		return initflow.Event{}, err
	}
	defer removeSettings()
	return s.endInit(s.program.initCommand(ctx, s.site.space.Selects(), append(args, settings...)...))
}

// endInit says how a run of init ended. After a failure what it left is listed all the same, for the next run.
func (s *initStep) endInit(err error) (initflow.Event, error) {
	if err == nil {
		return initflow.Event{Kind: initflow.Done, Select: s.site.space.Selects()}, nil
	}
	s.site.space.ListInit()
	f := fault.OfTool(err)
	if f == nil {
		return initflow.Event{}, err
	}
	return initflow.Event{Kind: initflow.ToolFailed, StoreModules: s.modules.used.complete, StoreProviders: s.providers.providing.withdrawable(),
		About: initflow.About{Backend: errors.Is(err, errOtherBackend), Modules: aboutModules(f), Providers: aboutProviders(err)}}, err
}

func (s *initStep) selectWorkspace(ctx context.Context) error {
	err := s.program.initCommand(ctx, true, "workspace", "select", "-or-create", "-no-color", s.site.space.Named)
	var f *fault.Failure
	if errors.As(err, &f) && f.Outcome == "" && (f.Class == "" || f.Class == run.FailureTool || f.Class == run.FailureConfiguration) {
		return fault.New(run.FailureWorkspace, "select the workspace %s: %w", s.site.space.Named, err)
	}
	return err
}

// forceUnlock breaks the lock of an own backend. One that is gone or another's by now is for the plan to find.
func (l *lockKeeper) forceUnlock(ctx context.Context) error {
	if !l.site.space.Own {
		return nil
	}
	c := command{step: run.StepInit, args: []string{"force-unlock", "-force", "-no-color", l.task.spec.ForceUnlock}}
	stream, e, err := l.program.tofu(ctx, c)
	if err != nil {
		return err
	}
	err = l.program.verdict(c, stream, e, 0)
	var f *fault.Failure
	if errors.As(err, &f) && (f.Outcome != "" || f.Class == run.FailureLimit || f.Class == run.FailureKilled) {
		return err
	}
	if err != nil {
		l.task.warn("the lock %s was not broken: %v", l.task.spec.ForceUnlock, err)
		return nil
	}
	l.task.log.Note("Broke the lock %s", l.task.spec.ForceUnlock)
	return nil
}

// initCommand runs one process of the init step, without a workspace in its environment when unselected.
func (g *supervisor) initCommand(ctx context.Context, unselected bool, args ...string) error {
	c := command{step: run.StepInit, args: args, unselected: unselected}
	stream, e, err := g.tofu(ctx, c)
	if err != nil {
		return err
	}
	g.task.takeWarnings(stream)
	g.initSaid = append(g.initSaid, stream.Diagnostics.Warnings()...)
	for _, d := range stream.Errors() {
		if d.Summary == backendSummary {
			return &fault.Failure{Class: run.FailureConfiguration, Err: fmt.Errorf("%w: %w", errOtherBackend, stream.Errors())}
		}
	}
	return g.verdict(c, stream, e, 0)
}

var errOtherBackend = errors.New("the backend is another one than before")

// initDigest covers what init reads, the recorded lock file that it starts from among it. Variables are in it because
// modules and providers may be named by them.
func (s *initStep) initDigest(lockFile []byte) string {
	w := s.site.space
	config, _ := w.Root.ReadFile(workspace.CLIConfigName) // written a moment ago
	if s.providers.providing.plainConfig != nil {
		config = s.providers.providing.plainConfig
	}
	scope := ""
	if from := s.downloads.providerScope(); from != nil {
		scope = from.Name
	}
	env := s.task.spec.Env
	if s.task.spec.Backend.Kind == run.BackendManaged {
		env = nil
	}
	hash := sha256.New()
	for _, part := range []any{s.task.treeDigest(), w.Module, s.task.spec.Backend, lockFile, w.Tool.Identity, w.Named, s.task.spec.Variables, env, config, scope} {
		text, _ := json.Marshal(part) // plain values; a variable that is no JSON failed before
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	if len(s.task.spec.Files) > 0 {
		text := mustJSON(s.task.spec.Files)
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// recordInit remembers what init was for, so that the next run can reuse it. That run will bring the lock file that init
// left here.
func (s *initStep) recordInit() error {
	w := s.site.space
	defer w.ListInit()
	lockFile := s.task.spec.LockFile
	if !s.bringsLockFile() {
		text, err := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New("", "read the dependency lock file: %w", err)
		}
		if len(text) > 0 { // a module without providers has none, and what was recorded before goes on being brought
			lockFile = text
		}
	}
	w.Record.Init, w.Record.LockFile, w.Record.Selected = s.initDigest(lockFile), w.LockFileDigest(), ""
	w.Record.NotNeeded = nil
	if w.Own {
		w.Record.Selected = w.Selected()
	}
	s.tellModules()
	if err := w.Save(); err != nil {
		return err
	}
	return s.reportLockFile()
}

// placeSettings writes the file that completes the backend's configuration, and returns the argument for init and what
// to do with the file afterwards.
func (s *initStep) placeSettings() (args []string, remove func(), err error) {
	w := s.site.space
	if len(s.task.spec.Backend.Settings) == 0 {
		return nil, func() {}, nil
	}
	w.Record.Settings = true
	if err := w.Save(); err != nil {
		return nil, nil, err
	}
	if err := w.Write(workspace.SettingsName, fetch.SettingsHCL(s.task.spec.Backend.Settings)); err != nil {
		return nil, nil, err
	}
	remove = func() { _ = w.Root.Remove(workspace.SettingsName) } // it goes with its directory at the latest
	return []string{"-backend-config=" + filepath.Join(w.Base, workspace.SettingsName)}, remove, nil
}
