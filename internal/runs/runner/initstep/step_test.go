// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/initcache"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// An action that fails ends init with its error, whatever event it returns beside it.
func TestAFailedActionEndsInit(t *testing.T) {
	full := errors.New("no space left on device")
	begin, planFailed := initflow.Event{Kind: initflow.Looked}, initflow.Event{Kind: initflow.PlanFailed}
	replayed := initflow.State{Stage: initflow.Ready, Replayed: true}
	shareable := initflow.Event{Kind: initflow.Done, Shareable: true}
	gone, done := initflow.Event{Kind: initflow.Gone, Unpacked: true}, initflow.Event{Kind: initflow.Done}
	for sentence, c := range map[string]struct {
		state  initflow.State
		event  initflow.Event
		fails  initflow.Action
		beside initflow.Event
		ran    []initflow.Action
	}{
		"Hold":                         {event: initflow.Event{Kind: initflow.Looked, Unchanged: true}, fails: initflow.Hold, beside: gone, ran: []initflow.Action{initflow.Hold}},
		"Prepare":                      {event: begin, fails: initflow.Prepare, beside: shareable, ran: []initflow.Action{initflow.Prepare}},
		"Replay, as if none were kept": {event: begin, fails: initflow.Replay, beside: gone, ran: []initflow.Action{initflow.Prepare, initflow.Replay}},
		"Replay, without an event":     {event: begin, fails: initflow.Replay, ran: []initflow.Action{initflow.Prepare, initflow.Replay}},
		"a run that no tool reported":  {event: begin, fails: initflow.RunEmpty, ran: []initflow.Action{initflow.Prepare, initflow.Replay, initflow.RunEmpty}},
		"Record":                       {event: begin, fails: initflow.Record, beside: done, ran: []initflow.Action{initflow.Prepare, initflow.Replay, initflow.RunEmpty, initflow.Record}},
		"Keep": {event: begin, fails: initflow.Keep, beside: done,
			ran: []initflow.Action{initflow.Prepare, initflow.Replay, initflow.RunEmpty, initflow.Record, initflow.Keep}},
		"Undo": {state: replayed, event: planFailed, fails: initflow.Undo, beside: done, ran: []initflow.Action{initflow.Undo}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var ran []initflow.Action
			last, err := drive(&c.state, c.event, func(a initflow.Action) (initflow.Event, error) {
				ran = append(ran, a)
				switch {
				case a == c.fails:
					return c.beside, full
				case a == initflow.Prepare:
					return shareable, nil
				case a == initflow.Replay:
					return gone, nil
				}
				return done, nil
			})
			if last != initflow.Fail || !errors.Is(err, full) || c.state.Stage != initflow.Failed {
				t.Errorf("init ended with %s and %v, in the stage %q", last, err, c.state.Stage)
			}
			if !slices.Equal(ran, c.ran) {
				t.Errorf("ran %q, want %q", ran, c.ran)
			}
		})
	}
}

// A program's failure is retried if it is about something that init can give up.
func TestAFailedProgramIsRetried(t *testing.T) {
	var ran []initflow.Action
	failed := errors.New("exit code 1")
	state := initflow.State{Stage: initflow.Preparing}
	_, err := drive(&state, initflow.Event{Kind: initflow.Done}, func(a initflow.Action) (initflow.Event, error) {
		if ran = append(ran, a); a == initflow.Run {
			return initflow.Event{Kind: initflow.ToolFailed, About: initflow.About{Providers: true}, StoreProviders: true}, failed
		}
		return initflow.Event{Kind: initflow.Done}, nil
	})
	if want := []initflow.Action{initflow.Run, initflow.WithdrawProviders, initflow.Record}; err != nil || !slices.Equal(ran, want) {
		t.Errorf("%v after %q, want %q", err, ran, want)
	}
}

// newTestStep is a step with an empty working directory.
func newTestStep(t *testing.T) *Step {
	t.Helper()
	r := execution.New(&execution.Equipment{Inits: initcache.New(), Opts: execution.Options{WorkRoot: t.TempDir()}}, t.TempDir(), "one", "")
	r.Mask = r.Spec.KnownSecrets().Masker(mask.Mark)
	r.Spec.Stack, r.Spec.Backend.Kind = run.Stack{Namespace: "team", Name: "net"}, run.BackendManaged
	at := execution.NewSite(r)
	w, err := workspace.NewArea(r.Opts.WorkRoot, &confinement.Walls{}, nil).Open(workspace.Order{Stack: r.Spec.Stack}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if err := w.Root.MkdirAll(w.Module, 0o700); err != nil {
		t.Fatal(err)
	}
	at.Space = w
	return New(r, at, nil, supervisor.New(r, at, nil))
}

// block makes a directory where the lock file belongs, so that reading it fails.
func block(t *testing.T, s *Step) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.site.Space.Dir, workspace.LockFileTF), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestAnInitThatCannotBeRecordedFails(t *testing.T) {
	s := newTestStep(t)
	block(t, s)
	s.initState = initflow.State{Stage: initflow.Running}
	err := s.driveInit(t.Context(), initflow.Event{Kind: initflow.Done})
	if err == nil || !strings.Contains(err.Error(), "read the dependency lock file") {
		t.Errorf("%v", err)
	}
}

func TestAReplayThatCannotBeUndoneFails(t *testing.T) {
	s := newTestStep(t)
	s.site.Space.Record.HasLockFile = true // and it is gone
	s.initState = initflow.State{Stage: initflow.Ready, Replayed: true}
	err := s.driveInit(t.Context(), initflow.Event{Kind: initflow.PlanFailed})
	if err == nil || !strings.Contains(err.Error(), "read the source's dependency lock file") {
		t.Errorf("%v", err)
	}
}
