// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state/refactorfile"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// proposal is a preview, as in -o json.
type proposal struct {
	Refactoring reshape.Record `json:"refactoring"`
	Plans       []planned      `json:"plans"`
	// Ready is true if every plan is as the file says.
	Ready bool `json:"ready"`

	stacks map[string]*infrav1.Terraform
}

// planned is the plan of a stack on its new state.
type planned struct {
	Stack  string `json:"stack"`
	Result string `json:"result"`
	// Elsewhere is the directory or the revision that was planned in place of the stack's own source.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Problems are the differences to what the file expects, and why there is no plan.
	Problems []string     `json:"problems,omitempty"`
	Changes  []string     `json:"changes,omitempty"`
	Try      *content.Try `json:"-"`
}

// preview makes a proposal of a file, and plans it.
func (o *options) preview(ctx context.Context, s *session.Session, name string) (*proposal, error) {
	text, err := s.ReadFile(name, refactorfile.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the refactoring: %w", err)
	}
	file, err := refactorfile.Parse(name, text)
	if err != nil {
		return nil, ui.WithCode(ui.ExitUsage, err)
	}
	p := &proposal{stacks: map[string]*infrav1.Terraform{}}
	if err := o.resolve(ctx, s, file, p); err != nil {
		return nil, err
	}
	p.Refactoring.Namespace = s.Namespace
	if len(file.Steps) > 0 {
		if p.Refactoring, err = s.Content.ProposeRefactoring(ctx, s.Namespace, content.Refactoring{Steps: file.Steps}); err != nil {
			return nil, explain("preview "+name, err)
		}
	}
	return p, o.plan(ctx, s, file, file.References(), p)
}

// previewUndo makes a proposal of the way back, and plans it.
func (o *options) previewUndo(ctx context.Context, s *session.Session, id string) (*proposal, error) {
	p := &proposal{stacks: map[string]*infrav1.Terraform{}}
	var err error
	if p.Refactoring, err = s.Content.ProposeRefactoring(ctx, s.Namespace, content.Refactoring{Undo: id}); err != nil {
		return nil, explain("undo the refactoring "+id, err)
	}
	for _, name := range p.Refactoring.Stacks() {
		if p.stacks[name], err = s.Get(ctx, keyIn(s, name)); err != nil {
			return nil, s.StackError("plan", keyIn(s, name), err)
		}
	}
	expected := new(refactorfile.File)
	if o.expect != "" {
		text, err := s.ReadFile(o.expect, refactorfile.MaxSize)
		if err != nil {
			return nil, fmt.Errorf("read what the plans may change: %w", err)
		}
		if expected, err = refactorfile.ParseExpected(o.expect, text); err != nil {
			return nil, ui.WithCode(ui.ExitUsage, err)
		}
	}
	return p, o.plan(ctx, s, expected, p.Refactoring.Stacks(), p)
}

// resolve finds the stacks that a file names.
func (o *options) resolve(ctx context.Context, s *session.Session, file *refactorfile.File, p *proposal) error {
	var all *infrav1.TerraformList
	return file.Resolve(func(reference string) (string, error) {
		name := reference
		if dir, ok := refactorfile.Dir(reference); ok {
			if all == nil {
				all = new(infrav1.TerraformList)
				if err := s.Objects.List(ctx, all, client.InNamespace(s.Namespace)); err != nil {
					return "", fmt.Errorf("find the stack of the directory %s: %w", dir, err)
				}
			}
			var err error
			if name, err = o.stackOf(dir, all.Items, file.Workspaces[reference]); err != nil {
				return "", err
			}
		}
		t, err := s.Get(ctx, keyIn(s, name))
		if ui.IsNotFound(err) {
			return "", ui.Exitf(ui.ExitNotFound, "the stack %s/%s of the file does not exist. Create it first, suspended, so that it creates nothing before the states are moved", s.Namespace, name)
		}
		if err != nil {
			return "", s.StackError("read", keyIn(s, name), err)
		}
		if w := file.Workspaces[reference]; w != "" && w != t.WorkspaceName() {
			return "", ui.Exitf(ui.ExitFailure, "the file names the workspace %s of %s, and that of the stack %s/%s is %s", w, strings.TrimPrefix(reference, "dir:"), s.Namespace, name, t.WorkspaceName())
		}
		p.stacks[name] = t
		return name, nil
	})
}

// stackOf finds the stack of a directory in a file of tfmigrate.
func (o *options) stackOf(dir string, stacks []infrav1.Terraform, workspace string) (string, error) {
	for given, name := range o.names {
		if path.Clean(given) == dir {
			return name, nil
		}
	}
	var found []string
	for i := range stacks {
		t := &stacks[i]
		if path.Clean(strings.TrimPrefix(cmp.Or(t.Spec.Path, "."), "./")) == dir && (workspace == "" || workspace == t.WorkspaceName()) {
			found = append(found, t.Name)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	why := "no stack has it as its path"
	if len(found) > 1 {
		why = "several stacks have it as their path: " + strings.Join(found, ", ")
	}
	return "", ui.Exitf(ui.ExitNotFound, "find the stack of the directory %s: %s. Name it:\n    --stack %s=STACK", dir, why, dir)
}

// plan plans the stacks on their new states. A stack that reads what another one will publish is planned
// again with the planned outputs of that one.
func (o *options) plan(ctx context.Context, s *session.Session, file *refactorfile.File, names []string, p *proposal) error {
	for stack := range o.dirs {
		if !slices.Contains(names, stack) {
			return ui.Exitf(ui.ExitUsage, "--dir names the stack %s, which the refactoring does not", stack)
		}
	}
	if o.unplanned {
		return nil
	}
	s.News("Planning %s on the new states. Nothing is changed.", ui.Count(len(names), "stack"))
	done := map[string]planned{}
	todo := names
	for len(todo) > 0 {
		var from []content.PlanOf
		for name, d := range done {
			if d.Try != nil && d.Try.Outcome != "" && d.Result != speculative.ResultFailed && d.Result != speculative.ResultUnknown {
				from = append(from, content.PlanOf{Namespace: s.Namespace, Name: name, Run: d.Try.Run})
			}
		}
		progress := trials.NewProgress(s, len(todo))
		results := trials.All(ctx, len(todo), o.parallel, progress, func(ctx context.Context, i int) content.Try {
			return o.planOne(ctx, s, todo[i], from, p)
		})
		progress.End()
		if ctx.Err() != nil {
			return ui.Exitf(ui.ExitInterrupted, "interrupted: nothing was changed")
		}
		var again []string
		for i := range results {
			one := o.judge(ctx, s, file, &results[i])
			done[one.Stack] = one
			if one.Result == speculative.ResultFailed || one.Result == speculative.ResultUnknown {
				again = append(again, one.Stack)
			}
		}
		if len(again) == len(todo) || len(from) > 0 && len(again) == len(names) {
			break
		}
		todo = again
	}
	p.Ready = true
	for _, name := range slices.Sorted(slices.Values(names)) {
		one := done[name]
		p.Plans, p.Ready = append(p.Plans, one), p.Ready && len(one.Problems) == 0
	}
	return nil
}

func (o *options) planOne(ctx context.Context, s *session.Session, name string, from []content.PlanOf, p *proposal) content.Try {
	request := content.PreviewRequest{Detailed: true, From: from}
	if _, moves := p.Refactoring.Member(name); moves {
		request.Refactoring = p.Refactoring.ID
	}
	if _, inline := p.stacks[name].InlineProgram(); !inline {
		request.Revision = o.revision
	}
	var packed *os.File
	if dir := o.dirs[name]; dir != "" {
		var err error
		if packed, err = trials.Pack(ctx, dir); err != nil {
			return content.Try{Namespace: s.Namespace, Name: name, Ended: true, Error: err.Error()}
		}
		defer func() { _ = errors.Join(packed.Close(), os.Remove(packed.Name())) }()
		return trials.One(ctx, s.Namespace, name, trials.Previews(s, keyIn(s, name), request, packed))
	}
	return trials.One(ctx, s.Namespace, name, trials.Previews(s, keyIn(s, name), request, nil))
}

// judge compares a plan with what the file expects.
func (o *options) judge(ctx context.Context, s *session.Session, file *refactorfile.File, t *content.Try) planned {
	one := planned{Stack: t.Name, Result: t.Result(), Changes: t.Changes, Try: t}
	if dir := o.dirs[t.Name]; dir != "" {
		one.Elsewhere = dir
	} else if o.revision != "" {
		one.Elsewhere = o.revision
	}
	switch one.Result {
	case speculative.ResultUnchanged, speculative.ResultChanges:
		document, err := s.Content.PreviewPlan(ctx, t.Namespace, t.Name, t.Run)
		var made *plan.Plan
		if err == nil {
			made, err = plan.Decode(document)
		}
		if err != nil {
			one.Problems = []string{"its plan cannot be read: " + err.Error()}
			return one
		}
		one.Problems = file.Check(t.Name, made)
	case speculative.ResultUnknown:
		one.Problems = []string{"it " + (&speculative.UnknownError{Needs: t.Needs}).Error()}
	default:
		one.Problems = []string{cmp.Or(strings.TrimSpace(t.Error), "the plan was canceled")}
	}
	return one
}
