// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// tries makes speculative plans for people: it finds what their requests name.
type tries struct {
	engine *engine
	desk   *speculative.Desk
	// direct reads the API without a cache. sources has the programs of stacks.
	direct  client.Client
	sources *previewSources
	// judges checks plans against contracts; nil if the API does not serve them.
	judges *contracts.Book
}

func newTries(e *engine, r *stacks.Reconciler, direct client.Client) *tries {
	sources := &previewSources{engine: e, programs: r.Source, direct: direct, crossNamespace: r.Rules.AllowCrossNamespace}
	desk := &speculative.Desk{Executor: lateExecutor{e}, Draft: r.DraftSpeculative, Remove: sources.remove, Log: e.opts.Log,
		Prune: func(ctx context.Context, stack run.Stack) error {
			_, err := e.executor.PruneGone(ctx, stack, time.Now().Add(time.Hour))
			return err
		}}
	t := &tries{engine: e, desk: desk, direct: direct, sources: sources}
	desk.Judge, desk.Contracts = t.judge, t.contracts
	return t
}

// lateExecutor is the engine's executor, which is made after the controllers.
type lateExecutor struct{ *engine }

func (l lateExecutor) Prepare(ctx context.Context, rec run.Record) error {
	return l.executor.Prepare(ctx, rec)
}

func (l lateExecutor) Start(ctx context.Context, rec run.Record) error {
	return l.executor.Start(ctx, rec)
}

func (l lateExecutor) Cancel(ctx context.Context, id string) error { return l.executor.Cancel(ctx, id) }

func (l lateExecutor) InHand(stack run.Stack) (rec run.Record, canceled, ok bool) {
	return l.executor.InHand(stack)
}

func (l lateExecutor) TakeEnded(stack run.Stack) (run.Record, bool) {
	return l.executor.TakeEnded(stack)
}

func (l lateExecutor) Recorded(stack run.Stack, id string) { l.executor.Recorded(stack, id) }

func (l lateExecutor) Forget(stack run.Stack) { l.executor.Forget(stack) }

func (l lateExecutor) ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error) {
	return l.executor.ReadPlan(ctx, stack, id)
}

func (l lateExecutor) ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error) {
	return l.executor.ReadPart(ctx, stack, id, part)
}

func (l lateExecutor) WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error {
	return l.executor.WriteLog(ctx, stack, id, follow, w)
}

// Start starts a speculative plan with another version of a module.
func (t *tries) Start(ctx context.Context, obj *infrav1.Terraform, module, version, by string) (content.Try, error) {
	if _, err := layout.ParseVersion(version); err != nil {
		return content.Try{}, &run.RefusedError{Message: "try " + module + ": " + err.Error()}
	}
	stack := run.StackOf(obj)
	address, from, resolved, err := t.used(stack, module)
	if err != nil {
		return content.Try{}, err
	}
	return t.desk.Start(ctx, stack, speculative.Request{By: by, Trigger: fmt.Sprintf("try %s %s", address, version),
		Replace: &run.Replacement{Source: address, Version: version}, Resolved: resolved}, from...)
}

// Preview starts a speculative plan with another source, or planned outputs of other stacks.
func (t *tries) Preview(ctx context.Context, obj *infrav1.Terraform, p content.PreviewRequest, archive io.Reader, by string) (content.Try, error) {
	req := speculative.Request{By: by, Trigger: "preview", Detailed: p.Detailed, Proposed: p.Refactoring}
	if p.Refactoring != "" {
		req.Trigger = "preview of " + p.Refactoring
		if _, err := t.engine.refactorings.State(ctx, obj.Namespace, p.Refactoring, obj.Name); err != nil {
			return content.Try{}, err
		}
		req.Note = t.engine.notePreview(obj, p, archive != nil, by)
	}
	for _, from := range p.From {
		var producer infrav1.Terraform
		if err := t.direct.Get(ctx, types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, &producer); err != nil {
			return content.Try{}, err
		}
		planned, err := t.desk.Planned(run.StackOf(&producer), from.Run, by)
		if err != nil {
			return content.Try{}, err
		}
		req.StandIns, req.Trigger = append(req.StandIns, planned), "preview of what "+from.Namespace+"/"+from.Name+" plans"
	}
	var err error
	switch {
	case archive != nil:
		req.Source, req.Trigger = new(run.Artifact), "preview of a directory"
		*req.Source, err = t.sources.uploaded(ctx, archive)
	case p.Revision != "":
		req.Source, req.Trigger = new(run.Artifact), "preview of "+p.Revision
		*req.Source, err = t.sources.revision(ctx, obj, p.Revision)
	}
	if err != nil {
		return content.Try{}, err
	}
	return t.desk.Start(ctx, run.StackOf(obj), req)
}

// Wait returns a plan when it has ended, or after a while.
func (t *tries) Wait(ctx context.Context, obj *infrav1.Terraform, id string) (content.Try, error) {
	return t.desk.Wait(ctx, run.StackOf(obj), id)
}

// Cancel ends a plan.
func (t *tries) Cancel(ctx context.Context, obj *infrav1.Terraform, id string) error {
	return t.desk.Cancel(ctx, run.StackOf(obj), id)
}

// WriteLog writes the log of a detailed plan as it grows.
func (t *tries) WriteLog(ctx context.Context, obj *infrav1.Terraform, id, by string, w io.Writer) error {
	return t.desk.WriteLog(ctx, run.StackOf(obj), id, by, w)
}

// Document returns the readable plan of a detailed plan.
func (t *tries) Document(_ context.Context, obj *infrav1.Terraform, id, by string) ([]byte, error) {
	return t.desk.Document(run.StackOf(obj), id, by)
}

// stack reads a stack as it would be with a manifest, which may create it. What is known of it stays.
func (t *tries) stack(ctx context.Context, name types.NamespacedName, manifest []byte) (*infrav1.Terraform, error) {
	var obj infrav1.Terraform
	err := t.direct.Get(ctx, name, &obj)
	if manifest == nil || client.IgnoreNotFound(err) != nil {
		return &obj, err
	}
	var given infrav1.Terraform
	if err := json.Unmarshal(manifest, &given); err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", name, err)
	}
	given.Status = obj.Status
	return &given, nil
}

// judge asks the policies that bind a stack about a speculative plan of it.
func (t *tries) judge(ctx context.Context, owner run.Stack, rec run.Record, manifest []byte) (*speculative.Verdict, error) {
	if t.engine.policies == nil {
		return nil, nil
	}
	obj, err := t.stack(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, manifest)
	if err != nil {
		return nil, err
	}
	document, err := t.engine.executor.ReadPart(ctx, rec.Spec.Stack, rec.Spec.ID, run.BlobPlanShow)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return nil, err
	}
	rec.Spec.Stack = owner
	verdict, err := t.engine.policies.foresee(stacks.Patiently(ctx), obj, rec, document)
	if err != nil || verdict == nil {
		return nil, err
	}
	out := &speculative.Verdict{Decision: string(verdict.Decision), Message: verdict.Message}
	for _, f := range verdict.Findings {
		out.Findings = append(out.Findings, speculative.Finding{Policy: f.Policy, Rule: f.Rule, Address: f.Address, Message: f.Message, Effect: f.Effect})
	}
	return out, nil
}

// used returns the address of the module as the stack uses it, the versions that it has of it, and
// those of all its modules.
func (t *tries) used(stack run.Stack, module string) (address string, from []string, resolved map[string]string, err error) {
	q, err := usage.ParseQuery(module, t.engine.ownHosts()...)
	if err == nil && q.Kind != usage.Module {
		err = fmt.Errorf("%s is a provider. Only modules can be tried", module)
	}
	if err != nil {
		return "", nil, nil, &run.RefusedError{Message: "try " + err.Error()}
	}
	entry, _ := t.engine.usage.index.Entry(stack.Namespace, stack.Name)
	resolved = map[string]string{}
	for _, set := range []*usage.Set{entry.Applied, entry.Planned} { // what was planned is newer
		if set == nil || entry.Stack.UID != stack.UID {
			continue
		}
		for _, u := range set.Uses {
			for _, key := range u.Keys {
				if u.Version != "" {
					resolved[key] = u.Version
				}
			}
			if u.Version != "" && q.Matches(u) {
				address = u.Source
				if !slices.Contains(from, u.Version) {
					from = append(from, u.Version)
				}
			}
		}
	}
	if address == "" {
		return "", nil, nil, &run.RefusedError{Message: fmt.Sprintf("%s does not use %s, as far as its runs have told", stack, module)}
	}
	return address, from, resolved, nil
}
