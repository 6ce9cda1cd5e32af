// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// result is what a pass found: whether nothing of a decommissioned platform is left, and when the next pass is due, if
// nothing changes.
type result struct {
	gone  bool
	after time.Duration
}

// pass makes a platform as its blueprint says, one step further. It fills in the status.
func (r *Reconciler) pass(ctx context.Context, p *yubav1.Platform) (done result, err error) {
	// 1. What there is.
	stacks, err := r.stacksOf(ctx, p)
	if err != nil {
		return done, err
	}
	given, err := r.given(ctx, p, stacks)
	if err != nil {
		return done, err
	}
	// 2. What is wanted.
	facts := decide.Facts{Now: r.Now(), Held: moving.Held(p), Suspend: p.Spec.Suspend, Decommission: p.Spec.Decommission, Before: p.Status.Phases}
	var steps []plan.Step
	if problems := plan.Check(p); len(problems) > 0 {
		for _, problem := range problems {
			facts.Problems = append(facts.Problems, problem.String())
		}
	} else {
		steps = plan.Steps(p, given)
	}
	until, err := r.gather(ctx, p, &facts, steps, stacks)
	if err != nil {
		return done, err
	}
	if !until.IsZero() {
		done.sooner(until.Sub(r.Now()) + time.Second)
	}
	records, again := r.manualRecords(p, given, decide.Refused(facts))
	done.sooner(again)
	facts.Steps = withManual(p, facts.Steps, records)
	// 3. Decide and act.
	d := decide.Decide(facts)
	here := sync.OnceValue(func() error { return r.here(ctx, p) })
	if err := r.act(ctx, p, d, steps, stacks, here); err != nil {
		return done, err
	}
	if facts.Held == "" {
		if err := r.wipe(ctx, p, d, steps, stacks, here); err != nil {
			return done, err
		}
	}
	// 4. Record.
	record(p, d, given, r.Now())
	recordPresence(p, records)
	recordHolding(p, facts.Holder)
	left := slices.ContainsFunc(facts.Sights, func(s decide.Sight) bool { return s.Away == "" })
	done.gone = p.Spec.Decommission && !left
	return done, nil
}

// sooner makes the next pass come after a time at most; 0 is never.
func (r *result) sooner(after time.Duration) {
	if after > 0 && (r.after == 0 || after < r.after) {
		r.after = after
	}
}

// gather reads what decides, besides the blueprint. until is when it may decide otherwise without a change.
func (r *Reconciler) gather(ctx context.Context, p *yubav1.Platform, f *decide.Facts, steps []plan.Step, stacks []infrav1.Terraform) (until time.Time, err error) {
	if f.Holder, until, err = r.holder(ctx, p); err != nil {
		return until, err
	}
	if f.Missing, err = r.missing(ctx, p); err != nil {
		return until, err
	}
	for _, region := range p.Spec.Regions {
		name, err := r.foreign(ctx, p, region.Name)
		if err != nil {
			return until, err
		}
		if name != "" {
			f.Problems = append(f.Problems, "the Secret "+name+" exists and is not of this platform: delete it, or name the region otherwise")
		}
	}
	known := map[string]bool{}
	for i := range stacks {
		known[stacks[i].Name] = true
	}
	for _, s := range steps {
		f.Steps = append(f.Steps, decide.Step{ID: s.ID, Region: s.Region, Component: s.Component, Stack: s.Stack, Phase: s.Phase, Needs: s.Needs, Lacks: s.Lacks})
		if known[s.Stack] {
			continue
		}
		var foreign infrav1.Terraform
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: s.Stack}, &foreign)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return until, fmt.Errorf("read the stack %s: %w", s.Stack, err)
		case len(platformOf(&foreign)) == 0 || platformOf(&foreign)[0] != p.Namespace+"/"+p.Name:
			f.Sights = append(f.Sights, decide.Sight{Stack: s.Stack})
		}
	}
	for i := range stacks {
		f.Sights = append(f.Sights, sightOf(&stacks[i]))
	}
	return until, nil
}

// stacksOf are the stacks of a platform, by name.
func (r *Reconciler) stacksOf(ctx context.Context, p *yubav1.Platform) ([]infrav1.Terraform, error) {
	var list infrav1.TerraformList
	if err := r.Client.List(ctx, &list, client.InNamespace(p.Namespace), client.MatchingFields{indexStack: p.Namespace + "/" + p.Name}); err != nil {
		return nil, fmt.Errorf("list the stacks of the platform %s: %w", p.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.Terraform) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// namedSecrets are the Secrets that a blueprint names.
func namedSecrets(s *yubav1.PlatformSpec) (names []string) {
	for i := range s.Regions {
		if ref := s.Regions[i].CredentialsRef; ref != nil {
			names = append(names, ref.Name)
		}
	}
	if ref := s.Domain.CredentialsRef; ref != nil {
		names = append(names, ref.Name)
	}
	for i := range s.Phases {
		for _, ref := range s.Phases[i].VariablesFrom {
			names = append(names, ref.Name)
		}
	}
	for i := range s.Components {
		for _, ref := range s.Components[i].VariablesFrom {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missing are the Secrets that a blueprint names and that do not exist.
func (r *Reconciler) missing(ctx context.Context, p *yubav1.Platform) (missing []string, err error) {
	for _, name := range namedSecrets(&p.Spec) {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key := client.ObjectKey{Namespace: p.Namespace, Name: name}
		err := r.Client.Get(ctx, key, m)
		if apierrors.IsNotFound(err) { // the cache may be behind
			err = r.Direct.Get(ctx, key, m)
		}
		if apierrors.IsNotFound(err) {
			missing = append(missing, name)
		} else if err != nil {
			return nil, fmt.Errorf("read the Secret %s: %w", name, err)
		}
	}
	return missing, nil
}

// maxResources limits the resources of a stack in the status.
const maxResources = 20

// sightOf is what a stack of ours says about itself.
func sightOf(t *infrav1.Terraform) decide.Sight {
	ready := conditions.Of(t, infrav1.ConditionReady)
	s := decide.Sight{
		Stack: t.Name, Region: t.Labels[yubav1.LabelPlatformRegion], Component: t.Labels[yubav1.LabelPlatformComponent],
		Phase: yubav1.PlatformPhaseName(t.Labels[yubav1.LabelPlatformPhase]), Ours: true, Deleting: !t.DeletionTimestamp.IsZero(), Suspended: t.Spec.Suspend,
		Seen:  t.Status.ObservedGeneration >= t.Generation && (ready.ObservedGeneration == 0 || ready.ObservedGeneration >= t.Generation),
		Ready: string(ready.Status), Reason: ready.Reason, Message: shorten.Fit(shorten.Line(ready.Message), 500),
		Waits:   ready.Reason == infrav1.ReasonDependencyNotReady || ready.Reason == infrav1.ReasonWaiting,
		Stalled: conditions.Of(t, infrav1.ConditionStalled).Status == metav1.ConditionTrue,
		Away:    shorten.Fit(shorten.Line(moving.Held(t)), 500),
		Pending: t.Status.Plan.Pending, Changes: t.Status.Plan.Summary, Failures: t.Status.ReconciliationFailures,
	}
	// The node hands over its kubeconfig some minutes after the machine exists. The stack is woken by the Secret.
	kubeconfig := plan.SecretName(t.Labels[yubav1.LabelPlatform], s.Region, plan.KubeconfigSecret)
	if ready.Reason == infrav1.ReasonVarsGenerationFailed && strings.Contains(ready.Message, kubeconfig) {
		s.Waits, s.Message = true, "waits for the first machine to hand over the kubeconfig of its cluster (Secret "+kubeconfig+")"
	}
	if t.Status.LastRun != nil {
		s.Run = t.Status.LastRun.ID
	}
	if t.Status.CurrentRun != nil {
		s.Run, s.Operation = t.Status.CurrentRun.ID, t.Status.CurrentRun.Operation
	}
	if t.Status.Inventory != nil {
		s.Count = int64(len(t.Status.Inventory.Entries))
		for _, e := range t.Status.Inventory.Entries[:min(len(t.Status.Inventory.Entries), maxResources)] {
			s.Resources = append(s.Resources, shorten.Fit(fmt.Sprintf("%s.%s (%s)", e.Type, e.Name, e.Identifier), 300))
		}
	}
	return s
}
