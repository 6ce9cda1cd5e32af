// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// PlaceState puts the current state in place, unless the stack has its own backend.
func (s *Step) PlaceState(ctx context.Context) error {
	if s.run.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	fetched := s.keeper.CurrentState(ctx)
	state, err := fetched.Data, fetched.Err
	var r *link.Refusal
	if errors.As(err, &r) {
		class := r.Problem.Class
		if class == "" {
			class = run.FailureState
		}
		return fault.New(class, "get the state: %w", err)
	}
	if err != nil {
		return fmt.Errorf("get the state: %w", err)
	}
	if err := s.keeper.HeedLeftState(state); err != nil {
		return err
	}
	w := s.site.Space
	if err := w.Root.MkdirAll(path.Dir(w.InModule(w.StateIn())), 0o700); err != nil {
		return fault.New(fault.DiskClass(err), "place the state: %w", err)
	}
	if s.keeper.StateFetched = fetched.Status; fetched.Status == http.StatusNoContent {
		s.keeper.GivenState = run.NoState
		return s.keeper.PlaceEmptyState()
	}
	if !spool.Complete(state) {
		return fault.New(run.FailureState, "place the state: the server did not send a state")
	}
	s.keeper.GivenState = spool.Digest(state)
	s.run.Lock()
	s.run.Journal.Initial, s.run.Journal.Serial = s.keeper.GivenState, spool.SerialOf(state)
	s.run.Unlock()
	if err := w.Write(w.InModule(w.StateIn()), state); err != nil {
		return err
	}
	return s.initForState(ctx, state)
}

// A state may need providers only to destroy their resources. Init knows that only with the state
// in place, so it runs again if one is missing.

// stateProviders returns the distinct providers in a state. They look like
// provider["HOST/NAMESPACE/TYPE"].alias, maybe after a module. Searching is cheaper than parsing:
// states can be large, and every drift check needs this.
func stateProviders(state []byte) []string {
	var names []string
	opening, closing := []byte(`provider[\"`), []byte(`\"]`)
	for at := 0; ; {
		next := bytes.Index(state[at:], opening)
		if next < 0 {
			return names
		}
		begin := at + next
		at = begin + len(opening)
		end := bytes.Index(state[at:min(len(state), at+maxAddress)], closing)
		if end < 0 || !valueOfProvider(state[:begin]) {
			continue
		}
		if name := state[at : at+end]; !slices.Contains(names, string(name)) && bytes.IndexByte(name, '"') < 0 {
			names = append(names, string(name))
		}
	}
}

// maxAddress limits the address of a provider.
const maxAddress = 1 << 10

// valueOfProvider reports whether the position after before is in the value of a key "provider".
func valueOfProvider(before []byte) bool {
	quote := bytes.LastIndexByte(before, '"')
	if quote < 0 || bytes.IndexByte(before[quote:], '\\') >= 0 {
		return false
	}
	key, isValue := bytes.CutSuffix(bytes.TrimRight(before[:quote], " \t\r\n"), []byte(":"))
	return isValue && bytes.HasSuffix(bytes.TrimRight(key, " \t\r\n"), []byte(`"provider"`))
}

// builtIn prefixes providers that are part of the tool.
const builtIn = "terraform.io/builtin/"

// missingProviders returns the providers of a state that the lock file lacks; none if encrypted.
// tofu uses OpenTofu's registry for providers of Terraform's.
func missingProviders(state, lockFile []byte) []string {
	var missing []string
	locked := func(name string) bool { return strings.Contains(string(lockFile), `provider "`+name+`"`) }
	for _, name := range stateProviders(state) {
		rest, ofTerraform := strings.CutPrefix(name, "registry.terraform.io/")
		if strings.HasPrefix(name, builtIn) || locked(name) || ofTerraform && locked("registry.opentofu.org/"+rest) {
			continue
		}
		missing = append(missing, name)
	}
	return missing
}

// initForState runs init with the state in place, if the state needs further providers.
func (s *Step) initForState(ctx context.Context, state []byte) error {
	w := s.site.Space
	switch s.run.Spec.Operation {
	case run.OperationPlan, run.OperationPlanAndApply, run.OperationApply:
	default: // a state may be changed because a provider is no longer available
		return nil
	}
	lockFile, _ := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile) // without one all are missing
	missing := missingProviders(state, lockFile)
	if !slices.ContainsFunc(missing, func(name string) bool { return !slices.Contains(w.Record.NotNeeded, name) }) {
		return nil
	}
	s.run.Log.Note("Init: again, because resources in the state need providers that the program does not: %s", strings.Join(missing, ", "))
	if err := s.driveInit(ctx, initflow.Event{Kind: initflow.StateNeeds}); err != nil {
		return ofInit(err)
	}
	lockFile, _ = w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	w.Record.NotNeeded = missingProviders(state, lockFile)
	return ofInit(w.Save())
}

// runInitWithState runs init with the state in place. The backend is the same, so no state moves.
func (s *Step) runInitWithState(ctx context.Context) (initflow.Event, error) {
	w := s.site.Space
	s.run.Result.Init, w.Record.Unproven = run.InitRan, ""
	if s.providers.providing.openConfig != nil { // the stack's own installation may have them
		if err := w.Write(workspace.CLIConfigName, s.providers.providing.openConfig); err != nil {
			return initflow.Event{}, err
		}
	}
	return s.endInit(s.downloads.connected(s.program, func() error { return s.program.InitCommand(ctx, false, s.initArgs()...) }))
}
