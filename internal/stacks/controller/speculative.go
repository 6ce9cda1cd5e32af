// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// DraftSpeculative describes a speculative plan of a stack as it is configured now, except for what
// the request says. It takes no lock and is in no status. A *speculative.UnknownError means that
// inputs are unknown; a *run.RefusedError is for the user.
func (r *Reconciler) DraftSpeculative(ctx context.Context, stack run.Stack, req speculative.Request) (*run.Record, error) {
	var obj infrav1.Terraform
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: stack.Namespace, Name: stack.Name}, &obj)
	if req.Manifest != nil && client.IgnoreNotFound(err) == nil {
		err = foreseen(&obj, req.Manifest)
	}
	if err != nil {
		return nil, err
	}
	if run.StackOf(&obj) != stack {
		return nil, &run.RefusedError{Message: fmt.Sprintf("plan %s: the stack was deleted and created again meanwhile. Try again", stack)}
	}
	if req.Identity != nil {
		as(&obj.Spec, req.Identity)
	}
	p, err := r.speculate(ctx, &obj, req)
	if err != nil {
		return nil, err
	}
	rec := &run.Record{Created: p.now.UTC(), Token: run.NewToken(), Generation: obj.Generation, By: req.By, Urgency: run.UrgencyReview,
		Trigger: req.Trigger, State: stateRefOf(&obj)}
	rec.State.Proposed = req.Proposed
	if rec.Spec, err = r.speculativeSpec(ctx, p, req); err != nil {
		return nil, err
	}
	rec.Place, err = placeOf(r.Rules, &obj, rec.Spec.ID)
	return rec, err
}

// foreseen makes an object what a manifest says. What is known of the stack stays.
func foreseen(obj *infrav1.Terraform, manifest []byte) error {
	var given infrav1.Terraform
	if err := json.Unmarshal(manifest, &given); err != nil {
		return fmt.Errorf("read the manifest of a speculative plan: %w", err)
	}
	if obj.UID == "" {
		*obj = given
		return nil
	}
	obj.Labels, obj.Annotations, obj.Spec = given.Labels, given.Annotations, given.Spec
	return nil
}

func (r *Reconciler) speculativeSpec(ctx context.Context, p *gathered, req speculative.Request) (run.Spec, error) {
	s, err := runDraftsOf(r).spec(ctx, p)
	if err != nil {
		return s, err
	}
	s.Protocol, s.ID = run.ProtocolVersion, run.NewID(p.now)
	s.Stack.Name += speculative.Mark + s.ID
	s.Stack.UID += speculative.Mark + s.ID
	s.Origin = ""
	s.Operation, s.Purpose, s.Describe = run.OperationPlan, run.PurposeTry, true
	s.Replace, s.Resolved, s.PlanDocument = req.Replace, req.Resolved, req.Detailed
	if s.Destroy = p.obj.Spec.Destroy; req.Replace == nil {
		s.PlanOutputs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.config.Outputs(), p.obj.Status.AvailableOutputs))))
	}
	// Providers stay, unless the source is another one. A lock in a custom backend would stop the
	// stack's own runs.
	s.Upgrade, s.NoPlanLock, s.ReadOutputs = req.Source != nil && p.obj.UpgradesOnInit(), true, false
	if s.LockFile, err = r.Runs.LockFile(ctx, p.stack); err != nil {
		return s, err
	}
	s.ReviewInit, err = judgeOf(r).mayExecute(ctx, p)
	return s, err
}

// speculate gathers the configuration of a stack, with what the request has in place of its own.
func (r *Reconciler) speculate(ctx context.Context, obj *infrav1.Terraform, req speculative.Request) (*gathered, error) {
	o := &overlay{Getter: getter{r.Reader, r.Stacks}, asked: map[string]bool{}}
	if err := r.standIns(ctx, obj, req.StandIns, o); err != nil {
		return nil, err
	}
	prog, missing := r.program(ctx, obj, req.Source)
	attempt := func(fill speculative.Fill) (*gathered, error) {
		o.fill = fill
		p := &gathered{held: held{collected: collected{pass: *r.pass(obj)}}, foreseen: o.outputs}
		return p, r.configure(ctx, p, prog, missing, o)
	}
	p, err := attempt(speculative.LeftOut)
	if err != nil {
		return nil, err
	}
	var unknown []speculative.Unknown
	for i := range o.standIns {
		unknown = append(unknown, o.standIns[i].Unknown()...)
	}
	unknown = slices.DeleteFunc(unknown, func(u speculative.Unknown) bool { return !o.asked[u.Secret] })
	mentions := mentionsIn(obj, prog)
	needs, err := speculative.Resolve(unknown, mentions, func(fill speculative.Fill) (string, error) {
		with, err := attempt(fill)
		if err != nil {
			return "", err
		}
		return with.facts.Config + "\n" + with.facts.Source.Problem + "\n" + with.facts.Inputs.Problem, nil
	})
	if err != nil {
		return nil, err
	}
	if needs = append(needs, p.needs...); len(needs) > 0 {
		return nil, &speculative.UnknownError{Needs: needs}
	}
	if p.config == nil {
		return nil, &run.RefusedError{Message: fmt.Sprintf("plan %s: %s", p.stack, cmp.Or(p.facts.Source.Problem, p.facts.Inputs.Problem))}
	}
	return p, nil
}

// program finds the program of a stack, in another source if there is one.
func (r *Reconciler) program(ctx context.Context, obj *infrav1.Terraform, source *run.Artifact) (*reads.Program, error) {
	if source == nil {
		return r.Source.Find(ctx, obj, r.Rules.AllowCrossNamespace)
	}
	return r.Source.FindIn(ctx, obj, *source)
}

// mentionsIn reports whether templates of the stack may compare the value of a key: they name it, or
// go through all keys, or make the program.
func mentionsIn(obj *infrav1.Terraform, prog *reads.Program) func(key string) bool {
	text := ""
	if obj.Spec.Values != nil && len(obj.Spec.ReadInputsFromSecrets) > 0 {
		text = string(obj.Spec.Values.Raw)
	}
	return func(key string) bool {
		return prog != nil && prog.Template() || speculative.Mentions(text, key) || speculative.Mentions(text, "range")
	}
}

// overlay has Secrets with planned outputs in place of those that producers have written.
type overlay struct {
	inputs.Getter
	standIns []speculative.StandIn
	// producers are the stacks that write them, in the same order.
	producers []*infrav1.Terraform
	// outputs are the planned outputs by NAMESPACE/NAME of the producer.
	outputs map[string]map[string]json.RawMessage
	fill    speculative.Fill
	// asked are the Secrets that were asked for.
	asked map[string]bool
}

// standIns finds the Secrets that the producers write.
func (r *Reconciler) standIns(ctx context.Context, obj *infrav1.Terraform, planned []*speculative.Planned, o *overlay) error {
	for _, one := range planned {
		var producer infrav1.Terraform
		err := r.Reader.Get(ctx, types.NamespacedName{Namespace: one.Stack.Namespace, Name: one.Stack.Name}, &producer)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("plan %s with the planned outputs of %s: %w", run.StackOf(obj), one.Stack, err)
		}
		switch {
		case err != nil || run.StackOf(&producer) != one.Stack:
			return &run.RefusedError{Message: fmt.Sprintf("plan %s: the stack %s is gone since it was planned", run.StackOf(obj), one.Stack)}
		case producer.Spec.Destroy:
			return &run.RefusedError{Message: fmt.Sprintf("plan %s: the stack %s is to be destroyed (spec.destroy), so it has no outputs to plan with", run.StackOf(obj), one.Stack)}
		}
		if o.outputs == nil {
			o.outputs = map[string]map[string]json.RawMessage{}
		}
		o.outputs[one.Stack.String()] = one.Changes
		if to := producer.Spec.WriteOutputsToSecret; to != nil {
			o.standIns = append(o.standIns, speculative.StandIn{Planned: one, Name: to.Name, Wanted: to.Outputs})
			o.producers = append(o.producers, &producer)
		}
	}
	return nil
}

// Secret implements [inputs.Getter].
func (o *overlay) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret, err := o.Getter.Secret(ctx, namespace, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	for i := range o.standIns {
		producer := o.producers[i]
		if o.standIns[i].Name != name || producer.Namespace != namespace {
			continue
		}
		if apierrors.IsNotFound(err) {
			secret, err = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: scope.Of(producer.Labels).Labels(),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(producer, infrav1.GroupVersion.WithKind(infrav1.Kind))}}}, nil
		}
		if !metav1.IsControlledBy(secret, producer) {
			return secret, nil // the producer could not write it
		}
		o.asked[name] = true
		secret = o.standIns[i].Secret(secret, o.fill)
	}
	return secret, err
}
