// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxDrift is how many drifted addresses a result names.
const maxDrift = 100

// planCommand is the call that plans what the spec says.
func (j *job) planCommand(out string) (command, error) {
	args := []string{"plan", "-json", "-input=false", "-no-color", "-detailed-exitcode", "-out=" + out}
	if j.spec.Backend.Kind == run.BackendManaged {
		args = append(args, "-lock=false") // the state is a snapshot that nobody else writes to
	} else {
		args = append(args, j.lockArgs(j.spec.NoPlanLock)...)
	}
	if j.spec.Destroy {
		args = append(args, "-destroy")
	}
	for _, target := range j.spec.Targets {
		args = append(args, "-target="+target)
	}
	varFiles, err := j.checkedVarFiles()
	return command{step: run.StepPlan, args: slices.Concat(args, j.parallelism(), varFiles)}, err
}

// lockArgs say how to treat the lock of an own backend.
func (j *job) lockArgs(without bool) []string {
	switch timeout := time.Duration(j.spec.LockTimeout); {
	case without:
		return []string{"-lock=false"}
	case timeout > 0:
		return []string{"-lock-timeout=" + timeout.String()}
	}
	return nil
}

func (j *job) parallelism() []string {
	if j.spec.Parallelism <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("-parallelism=%d", j.spec.Parallelism)}
}

// plan makes the plan and says what it would change.
func (j *job) plan(ctx context.Context) error {
	c, err := j.planCommand(j.space.planPath())
	if err != nil {
		return err
	}
	stream, e, err := j.afterInit(ctx, c)
	if err != nil {
		return err
	}
	j.takeWarnings(stream)
	if err := j.verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	result := &run.PlanResult{Changes: e.Code == 2, Counts: run.Counts(stream.Planned)}
	result.Fates, result.FatesTotal = heardFates(stream)
	for _, change := range stream.Drift[:min(len(stream.Drift), maxDrift)] {
		result.Drift = append(result.Drift, change.Address)
	}
	if !result.Changes && (!j.spec.Describe || j.spec.Purpose == run.PurposeDrift) {
		// A look at the world that finds nothing leaves nothing to be read.
		j.setPlan(result)
		return j.unchanged(ctx)
	}
	if j.held, err = j.takePlan(planDir+"/"+planName, givenPlan); err != nil {
		return err
	}
	result.Digest, result.Size = j.held.digest, j.held.size
	j.setPlan(result)
	if result.Changes && j.spec.Operation == run.OperationPlan {
		j.space.listMade(result.Digest)
	}
	if result.Changes && j.spec.Operation == run.OperationPlan && !j.spec.Review {
		return j.shipPlan(ctx)
	}
	return nil
}

// afterInit runs the first process that works with what init left. When it fails and init was left out, that may be why.
func (j *job) afterInit(ctx context.Context, c command) (*plan.Stream, process.Exit, error) {
	stream, e, err := j.tofu(ctx, c)
	if err == nil {
		stream, e, err = j.pastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return stream, e, err
	}
	if !j.blamesInit(stream, e) {
		return stream, e, j.proveInit(e)
	}
	if err := j.initAfterAll(ctx); err != nil {
		return nil, process.Exit{}, err
	}
	return j.tofu(ctx, c)
}

func (j *job) setPlan(result *run.PlanResult) {
	j.result.Plan = result
	j.Lock()
	defer j.Unlock()
	j.Journal.Plan = result
	if result.Changes { // one that changes nothing is worth nothing to the next runner
		j.SaveJournal()
	}
}

// shipPlan gives the saved plan to the server.
func (j *job) shipPlan(ctx context.Context) error {
	data, err := j.readHeld(j.held)
	if err != nil {
		return err
	}
	return j.ship(ctx, "the saved plan", "/plan", data)
}

// ship gives the plan, or what is shown of it, to the server, and says which plan it is.
func (j *job) ship(ctx context.Context, what, path string, data []byte) error {
	_, err := j.persist(ctx, link.Request{Method: http.MethodPut, Path: path, Body: data, Header: map[string]string{run.HeaderPlanDigest: j.held.digest}})
	var r *link.Refusal
	if errors.As(err, &r) {
		return fault.New(r.Problem.Class, "store %s: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", what, err)
	}
	return nil
}

// showPlan returns tofu's own description of a plan. It holds sensitive values and is kept in memory only. Without a
// timeout the run's own limits it.
func (j *job) showPlan(ctx context.Context, p heldPlan, timeout time.Duration) ([]byte, error) {
	c := command{step: run.StepShow, args: []string{"show", "-json", "-no-color", j.heldPath(p)}, timeout: timeout}
	var shown []byte
	err := j.byInitsProviders(func() (err error) {
		shown, err = j.document(ctx, c, 4*orDefault(j.spec.Limits.PlanBytes, run.DefaultLimits().PlanBytes))
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown, j.unchangedPlan(p)
}

// document runs a command whose output is data, not news.
func (j *job) document(ctx context.Context, c command, limit int64) ([]byte, error) {
	c.capture = &bounded{limit: limit}
	stream, e, err := j.tofu(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.capture.over {
		return nil, fault.New(run.FailureLimit, "read what %s %s says: it is over the limit of %d bytes", j.space.tool.Name, c.step, limit)
	}
	if err := j.verdict(c, stream, e, 0); err != nil {
		return nil, err
	}
	if text := c.capture.Bytes(); json.Valid(text) {
		return text, nil
	}
	return nil, fault.New(run.FailureTool, "read what %s %s says: it is not JSON", j.space.tool.Name, c.step)
}

func orText(text, standard string) string {
	if strings.TrimSpace(text) == "" {
		return standard
	}
	return text
}

// takeWarnings gathers the tool's warnings, each once.
func (j *job) takeWarnings(stream *plan.Stream) {
	for _, w := range stream.Diagnostics.Warnings() {
		text := w.String()
		if !slices.Contains(j.result.Warnings, text) {
			j.addWarning(text)
		}
	}
}
