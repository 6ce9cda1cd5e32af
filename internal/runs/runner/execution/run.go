// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Run is a run in progress: its spec, its log and its result.
type Run struct {
	*Equipment
	*spool.Book
	ID    string
	Token string
	Spec  run.Spec
	// Given is the spec that came with the assignment; nil from an older server.
	Given  *run.Spec
	Mask   *mask.Masker
	Log    *spool.Log
	Logs   *spool.LogShipper
	Result run.Result
	Stop   Stopper

	refusals refusals
}

// New makes a run with this spool directory.
func New(e *Equipment, dir, id, token string) *Run {
	t := &Run{Equipment: e, Book: spool.NewBook(dir), ID: id, Token: token}
	t.Result.Confined = e.Walls.Complete()
	return t
}

// Persist sends a request about the run until it has a final answer.
func (t *Run) Persist(ctx context.Context, r link.Request) (int, error) {
	r.Token, r.Path = t.Token, "/runs/"+t.ID+r.Path
	return t.Server.Persist(ctx, r)
}

// Warn adds a warning of the runner to the log and the result.
func (t *Run) Warn(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	t.Log.Warn("%s", message)
	t.AddWarning(message)
}

const maxWarnings = 32

// AddWarning adds a warning to the result.
func (t *Run) AddWarning(text string) {
	if len(t.Result.Warnings) < maxWarnings {
		t.Result.Warnings = append(t.Result.Warnings, t.Mask.Text(text))
	}
}

// TakeWarnings adds the tool's warnings to the result, each once.
func (t *Run) TakeWarnings(stream *plan.Stream) {
	for _, w := range stream.Diagnostics.Warnings() {
		text := w.String()
		if !slices.Contains(t.Result.Warnings, text) {
			t.AddWarning(text)
		}
	}
}

// Fetch downloads a file of the run from the server into the spool.
func (t *Run) Fetch(ctx context.Context, what, name string, limit int64) (string, error) {
	target := t.Dir.Path(name)
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fault.New(fault.DiskClass(err), "fetch the %s: %w", what, err)
	}
	defer file.Close()
	_, err = t.Persist(ctx, link.Request{Method: http.MethodGet, Path: "/" + name, Stream: rewindable{file}, Limit: limit})
	var r *link.Refusal
	if errors.As(err, &r) {
		return "", fault.New(r.Problem.Class, "fetch the %s: %w", what, err)
	}
	if err != nil {
		return "", fmt.Errorf("fetch the %s: %w", what, err)
	}
	return target, nil
}

// rewindable is a file that is truncated when its transfer is retried.
type rewindable struct{ *os.File }

// Reset truncates the file.
func (r rewindable) Reset() {
	_ = r.Truncate(0) // the digest reveals wrong content
	_, _ = r.Seek(0, 0)
}

// Part is the part of the source that the run needs; nil for all of it, as for a shell.
func (t *Run) Part() *run.Part {
	p := t.Spec.Part
	switch t.Spec.Operation {
	case run.OperationPlan, run.OperationPlanAndApply, run.OperationApply:
		if p != nil && p.Digest != "" && len(p.Paths) > 0 {
			return p
		}
	}
	return nil
}

// TreeDigest identifies the tree's content. Commits outside the run's part do not change it.
func (t *Run) TreeDigest() string {
	if p := t.Part(); p != nil {
		return "part:" + p.Digest
	}
	return t.Spec.Artifact.Digest
}

// StateLimit is the size of the largest state that the server takes.
func (t *Run) StateLimit() int64 {
	return cmp.Or(max(0, t.Spec.Limits.StateBytes), run.DefaultLimits().StateBytes)
}

// OwnArguments reports whether the stack's environment adds arguments to commands of the tool.
func (t *Run) OwnArguments() bool {
	return slices.ContainsFunc(t.Spec.Env, func(e run.EnvVar) bool { return strings.HasPrefix(e.Name, "TF_CLI_ARGS") })
}

// InterruptedStep is the step that the runner died in.
func (t *Run) InterruptedStep() run.Step {
	if t.Journal.Process == nil {
		return run.StepPrepare
	}
	return t.Journal.Process.Step
}

// CheckNetwork fails if the run must not have the machine's network, and the machine cannot take it
// away.
func (t *Run) CheckNetwork() error {
	if len(t.Spec.Limits.Isolated) > 0 {
		if err := t.probeTunnel(); err != nil {
			return fault.New(run.FailureConfiguration, "start a program with an isolated network (--run-network isolated): %w", err)
		}
		return nil
	}
	if t.Spec.Limits.Network == run.NoNetwork && !t.Walls.Alone() {
		return fault.New(run.FailureConfiguration, "start a program without a network: this machine does not support namespaces. Start Yuba without --run-network none, or where `yuba version` lists namespaces")
	}
	return nil
}

// EndLeft returns a function that ends processes a program left and returns their number; nil if
// the kernel ends them with its namespaces.
func (t *Run) EndLeft() func() int {
	if t.Walls.Alone() {
		return nil
	}
	return func() int {
		ended, err := confinement.EndLeft(confinement.Mark(t.ID), fetch.LeftPatience)
		if ended > 0 {
			t.Log.Note("The program left %d processes running, which were ended", ended)
		}
		if err != nil {
			t.Warn("processes that the program left are still running: %v", err)
		}
		return ended
	}
}

func (t *Run) now() time.Time { return time.Now().UTC() }
