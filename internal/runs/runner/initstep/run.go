// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// beforeInit prepares a run of init.
func (s *Step) beforeInit(action initflow.Action) error {
	w := s.site.Space
	switch action {
	case initflow.ForgetBackend:
		s.run.Log.Note("Init: again, with the new backend only")
		return w.ForgetBackend()
	case initflow.RunEmpty: // the result must be of this init alone
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
	s.run.Result.Init, w.Record.Unproven = run.InitRan, ""
	// Key providers, backends, git and ssh may run the stack's commands, even if this init fails.
	programs := w.Own || len(s.run.Spec.CLIConfig) > 0 || fetch.StartsPrograms(s.run.Spec.Env, s.modules.homeFiles()) != "" || s.site.MayEncrypt()
	if programs != w.Record.Programs {
		if w.Record.Programs = programs; programs {
			if err := w.Save(); err != nil {
				return err
			}
		}
	}
	s.run.Log.Note("Init: %s %s", w.Tool.Name, w.Tool.Version)
	switch {
	case !w.Own: // the state is here, so init must not ask about where it was kept before
		return w.ForgetBackend()
	case w.Named == "default": // an earlier run may have selected another one
		return w.Remove(workspace.SelectedName)
	}
	return nil
}

// initArgs are the arguments of init without the backend's settings.
func (s *Step) initArgs() []string {
	args := []string{"init", "-input=false", "-no-color"}
	if s.site.Space.Tool.JSONInit() {
		args = append(args, "-json")
	}
	return args
}

// runInit runs the program.
func (s *Step) runInit(ctx context.Context) (initflow.Event, error) {
	args := s.initArgs()
	if s.run.Spec.Upgrade && !s.providers.providing.complete { // else the newest are known, and in the lock file
		args = append(args, "-upgrade")
		if s.modules.used.complete { // else init would download them again
			args = append(args, "-get=false")
		}
	}
	settings, removeSettings, err := s.placeSettings()
	if err != nil {
		return initflow.Event{}, err
	}
	defer removeSettings()
	return s.endInit(s.downloads.connected(s.program, func() error {
		return s.program.InitCommand(ctx, s.site.Space.Selects() && !run.NeedsWorkspace(s.run.Spec.Backend.Location), append(args, settings...)...)
	}))
}

// endInit returns the event for init's end. After a failure, too, it lists the result.
func (s *Step) endInit(err error) (initflow.Event, error) {
	if err == nil {
		return initflow.Event{Kind: initflow.Done, Select: s.site.Space.Selects()}, nil
	}
	s.site.Space.ListInit()
	f := fault.OfTool(err)
	if f == nil {
		return initflow.Event{}, err
	}
	return initflow.Event{Kind: initflow.ToolFailed, StoreModules: s.modules.used.complete, StoreProviders: s.providers.providing.withdrawable(),
		About: initflow.About{Backend: errors.Is(err, supervisor.ErrOtherBackend), Modules: summary.OfModules(f.Diagnostics()), Providers: summary.OfProviders(f.Diagnostics())}}, err
}

func (s *Step) selectWorkspace(ctx context.Context) error {
	err := s.program.InitCommand(ctx, true, "workspace", "select", "-or-create", "-no-color", s.site.Space.Named)
	var f *fault.Failure
	if errors.As(err, &f) && f.Outcome == "" && (f.Class == "" || f.Class == run.FailureTool || f.Class == run.FailureConfiguration) {
		return fault.New(run.FailureWorkspace, "select the workspace %s: %w", s.site.Space.Named, err)
	}
	return err
}

// placeSettings writes the backend's settings to a file. It returns init's argument, and a function
// that removes the file.
func (s *Step) placeSettings() (args []string, remove func(), err error) {
	w := s.site.Space
	if len(s.run.Spec.Backend.Settings) == 0 {
		return nil, func() {}, nil
	}
	w.Record.Settings = true
	if err := w.Save(); err != nil {
		return nil, nil, err
	}
	if err := w.Write(workspace.SettingsName, fetch.SettingsHCL(s.run.Spec.Backend.Settings)); err != nil {
		return nil, nil, err
	}
	remove = func() { _ = w.Root.Remove(workspace.SettingsName) } // it goes with its directory at the latest
	return []string{"-backend-config=" + filepath.Join(w.Base, workspace.SettingsName)}, remove, nil
}
