// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	verdicts "github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// maxConfigurations limits the remembered facts of configurations, one for each stack.
const maxConfigurations = 1000

// configurations remembers the facts of configurations: passes without a change ask again and again.
type configurations struct {
	mu    sync.Mutex
	known map[string]configuration
}

// configuration has the facts of one stack's configuration. about is everything they depend on.
type configuration struct {
	about    string
	document *facts.Document
	problem  error
}

func (c *configurations) get(stack, about string) (configuration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, there := c.known[stack]
	return known, there && known.about == about
}

func (c *configurations) put(stack string, known configuration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxConfigurations || c.known == nil {
		c.known = map[string]configuration{}
	}
	c.known[stack] = known
}

// BeforePlan implements [stacks.Policies].
func (p *policies) BeforePlan(ctx context.Context, obj *infrav1.Terraform, config string, declared func(context.Context) (*reads.Declared, error)) (asked bool, refused stacks.Refusal, err error) {
	subject := subjectOf(obj)
	binding, err := p.judge.Bind(ctx, subject)
	if err != nil || !binding.PrePlan() {
		return false, refused, err
	}
	recorded, err := p.lockFile(ctx, run.StackOf(obj))
	if err != nil {
		return true, refused, err
	}
	sum := sha256.Sum256(recorded)
	// Labels are facts, too, and no part of the configuration.
	others, err := json.Marshal([]any{stackFacts(obj), obj.Spec.Destroy, obj.Spec.Targets})
	if err != nil {
		return true, refused, err
	}
	about := config + " " + obj.Spec.Path + " " + hex.EncodeToString(sum[:]) + string(others)
	known, there := p.configurations.get(string(obj.UID), about)
	if !there {
		d, err := declared(ctx)
		if err != nil {
			return true, refused, err
		}
		// The run asks again once it has the modules from elsewhere.
		here := *d.Tree
		here.Unread = slices.DeleteFunc(slices.Clone(here.Unread), func(u module.TreeUnread) bool { return u.Remote })
		lockFile := d.LockFile
		if lockFile == nil {
			lockFile = recorded
		}
		known = configuration{about: about}
		known.document, known.problem = facts.Build(facts.Inputs{Stage: facts.StagePrePlan, Declared: &here, LockFile: orNil(lockFile), Stack: stackFacts(obj),
			Run:     facts.Run{Revision: d.Artifact.Revision, Destroy: obj.Spec.Destroy, Targets: obj.Spec.Targets},
			Digests: facts.Digests{Source: d.Artifact.Digest}})
		p.configurations.put(string(obj.UID), known)
	}
	refused, err = p.refusal(ctx, binding, subject, known.document, known.problem)
	return true, refused, err
}

// AfterInit implements [stacks.Policies].
func (p *policies) AfterInit(ctx context.Context, obj *infrav1.Terraform, rec run.Record, installed *run.Installed) (refused stacks.Refusal, err error) {
	subject := subjectOf(obj)
	binding, err := p.judge.Bind(ctx, subject)
	if err != nil || !binding.PrePlan() {
		return refused, err
	}
	in := facts.Inputs{Stage: facts.StagePrePlan, Declared: installed.Tree, LockFile: orNil(installed.LockFile), Stack: stackFacts(obj),
		Run: facts.Run{ID: rec.Spec.ID, Purpose: string(rec.Spec.Purpose), PlannedAt: rec.Created, Revision: rec.Spec.Artifact.Revision,
			Destroy: rec.Spec.Destroy, Targets: rec.Spec.Targets},
		Digests: facts.Digests{Source: rec.Spec.Artifact.Digest}}
	if in.Declared == nil {
		return refused, fmt.Errorf("run %s has not said what its configuration declares", rec.Spec.ID)
	}
	if err := addModules(&in, rec.Spec.ID, installed.Uses); err != nil {
		return refused, err
	}
	// This lets the rules know that init is over.
	if in.ModuleList == nil {
		in.ModuleList = []byte(`{"Modules":[]}`)
	}
	document, problem := facts.Build(in)
	return p.refusal(stacks.Patiently(ctx), binding, subject, document, problem)
}

func orNil(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return text
}

func stackFacts(obj *infrav1.Terraform) facts.Stack {
	return facts.Stack{Namespace: obj.Namespace, Name: obj.Name, Labels: obj.Labels, Workspace: obj.WorkspaceName()}
}

// refusal says why the policies refuse that a configuration is planned, and until when that holds.
func (p *policies) refusal(ctx context.Context, binding *judge.Binding, subject judge.Subject, document *facts.Document, problem error) (refused stacks.Refusal, err error) {
	limited, done, err := p.takeTurn(ctx, binding, subject)
	if err != nil {
		return refused, err
	}
	d := limited.Configuration(subject, document, problem, p.now())
	if done(); ctx.Err() != nil {
		return refused, fmt.Errorf("judge the configuration of %s: %w", subject, ctx.Err())
	}
	if d.Outcome != verdicts.OutcomeRefuse {
		return refused, nil
	}
	refused.Message = infrav1.TrimMessage(d.Message)
	for _, at := range []time.Time{d.ValidUntil, d.RetryAt} {
		if !at.IsZero() && (refused.Until.IsZero() || at.Before(refused.Until)) {
			refused.Until = at
		}
	}
	return refused, nil
}
