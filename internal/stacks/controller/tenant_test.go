// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// ofAcme makes the Tenant acme-web the stack's owner.
func ofAcme(t *infrav1.Terraform) {
	t.Labels = map[string]string{tenantv1.LabelUID: "acme"}
	t.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: "acme-web", UID: "tenant-1"}}
}

func TestSecretsOfATenantsStackHaveItsLabel(t *testing.T) {
	want := &infrav1.WriteOutputsToSecretSpec{Name: "outputs", Labels: map[string]string{"team": "a", tenantv1.LabelUID: "beta"}}
	if diff := cmp.Diff(map[string]string{"team": "a", tenantv1.LabelUID: "acme"}, merged(want.Labels, scope.Of(stackObject(ofAcme).Labels).Labels())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Labels, merged(want.Labels, scope.Of(stackObject().Labels).Labels())); diff != "" {
		t.Errorf("a stack without a tenant may request any labels: %s", diff)
	}
	if key := stateKeyOf(stackObject(ofAcme)); key.Scope != "acme" {
		t.Errorf("the state's key is %+v", key)
	}
}

// worldOfStates has the states of two tenants, and one without an owner.
func worldOfStates(t *testing.T) client.Reader {
	t.Helper()
	secretOf := func(name, tenant string) client.Object {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "tfstate-default-" + name}}
		if tenant != "" {
			s.Labels = map[string]string{tenantv1.LabelUID: tenant}
		}
		return s
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(secretOf("beta-db", "beta"), secretOf("acme-db", "acme"), secretOf("old-db", "")).Build()
}

func TestAnotherTenantsStateIsRefused(t *testing.T) {
	r := &Reconciler{Reader: worldOfStates(t)}
	for sentence, test := range map[string]struct {
		change                  func(*infrav1.Terraform)
		name, suffix, workspace string
		denied                  bool
	}{
		"another tenant's, by the suffix":             {ofAcme, "web", "beta-db", "", true},
		"another tenant's, by the workspace":          {ofAcme, "db", "", "default-beta", true},
		"another tenant's, whose stack had this name": {ofAcme, "beta-db", "", "", true},
		"its own":                             {ofAcme, "web", "acme-db", "", false},
		"a state from before the tenant":      {ofAcme, "web", "old-db", "", false},
		"a state that does not exist yet":     {ofAcme, "web", "", "", false},
		"a stack without a tenant may use it": {func(*infrav1.Terraform) {}, "web", "beta-db", "", false},
		"a custom backend":                    {func(t *infrav1.Terraform) { ofAcme(t); t.Spec.Cloud = &infrav1.CloudSpec{} }, "beta-db", "", "", false},
	} {
		obj := stackObject(test.change)
		obj.Name, obj.Spec.Workspace = test.name, test.workspace
		obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: test.suffix}
		problem, err := stateAccessOf(r).refusedState(t.Context(), obj)
		if err != nil {
			t.Fatal(err)
		}
		if !test.denied {
			if problem != nil {
				t.Errorf("%s: %v", sentence, problem)
			}
			continue
		}
		if problem == nil {
			t.Errorf("%s: it is not refused", sentence)
			continue
		}
		if want := "use the state of team/" + test.name + ": Secret team/tfstate-default-beta-db belongs to tenant \"beta\", but the stack belongs to tenant \"acme\""; problem.Reason != infrav1.ReasonAccessDenied || !strings.Contains(problem.Message, want) {
			t.Errorf("%s: got %+v, want %q", sentence, problem, want)
		}
	}
}

// An applied stack that later names another tenant's state must not copy its outputs. One that
// never had a state can be deleted.
func TestOutputsAreNotTakenFromAnotherTenantsState(t *testing.T) {
	obj := stackObject(ofAcme)
	obj.Spec.Inline = map[string]string{"main.tf": "locals {}\n"}
	obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "beta-db"}
	obj.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "acme-outputs"}
	obj.Status.LastAppliedRevision = "main@sha1:1"
	r := &Reconciler{Reader: worldOfStates(t), Source: newSources(t)}
	p := passOver(obj)
	p.now = time.Now()
	p.facts = decide.Facts{Now: p.now, Stack: stackFacts(obj)}
	if err := r.gatherConfiguration(t.Context(), &p.gathered); err != nil {
		t.Fatal(err)
	}
	d := decide.Decide(p.facts)
	p.decision = d
	if d.Verb != decide.VerbFail || d.Reason != infrav1.ReasonAccessDenied {
		t.Errorf("decided %v", d)
	}
	if outputsMatter(&p.decided) {
		t.Error("outputs are read from the state")
	}
	obj.Status.LastAppliedRevision = ""
	obj.Spec.DestroyResourcesOnDeletion = true
	p.facts.Stack = stackFacts(obj)
	p.facts.Stack.Deleting = true
	if d := decide.Decide(p.facts); d.Verb != decide.VerbRelease {
		t.Errorf("a stack that never had a state cannot go: %v", d)
	}
}

func TestTenantChangesCauseReconciliations(t *testing.T) {
	for sentence, test := range map[string]struct {
		before, after func(*infrav1.Terraform)
		want          bool
	}{
		"it now belongs to a tenant":       {func(*infrav1.Terraform) {}, ofAcme, true},
		"it no longer belongs to a tenant": {ofAcme, func(*infrav1.Terraform) {}, true},
		"another label":                    {ofAcme, func(t *infrav1.Terraform) { ofAcme(t); t.Labels["team"] = "a" }, false},
	} {
		if got := reconciling.Triggers(otherScope).Update(event.UpdateEvent{ObjectOld: stackObject(test.before), ObjectNew: stackObject(test.after)}); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

// A template may make a thousand suspended stacks, which cost nothing until they are resumed.
func TestWhichStacksNeedNoReconciliation(t *testing.T) {
	suspended := func(t *infrav1.Terraform) { t.Spec.Suspend = true }
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		run    *run.Record
		want   bool
	}{
		"a new suspended stack":          {[]func(*infrav1.Terraform){suspended}, nil, true},
		"not one that is not suspended":  {nil, nil, false},
		"not one with a pending plan":    {[]func(*infrav1.Terraform){suspended, planPending}, nil, false},
		"not one with a Ready condition": {[]func(*infrav1.Terraform){suspended, applying}, nil, false},
		"not an applied one":             {[]func(*infrav1.Terraform){suspended, func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "r" }}, nil, false},
		"not one with a run in progress": {[]func(*infrav1.Terraform){suspended}, &run.Record{}, false},
		"not one that is being deleted":  {[]func(*infrav1.Terraform){suspended, func(t *infrav1.Terraform) { t.DeletionTimestamp = &metav1.Time{Time: finished} }}, nil, false},
	} {
		p := passOver(stackObject(test.change...))
		p.inHand = test.run
		if got := p.untouched(); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
	// The decision needs nothing that is unknown then.
	p := passOver(stackObject(suspended))
	p.facts = decide.Facts{Now: p.now, Stack: stackFacts(p.obj)}
	p.decision = decide.Decide(p.facts)
	if d := p.decision; d.Verb != decide.VerbRest || d.Reason != decide.ReasonSuspended || outputsMatter(&p.decided) {
		t.Errorf("decided %v", d)
	}
}

// discarded records the discarded states.
type discarded struct {
	States
	keys []state.Key
}

func (d *discarded) Discard(_ context.Context, key state.Key) error {
	d.keys = append(d.keys, key)
	return apierrors.NewForbidden(corev1.Resource("secrets"), key.SecretName(), nil)
}

// Stacks without a tenant keep their state for a successor; so do those whose resources stay.
func TestWhichStatesAreDiscarded(t *testing.T) {
	destroyed := func(t *infrav1.Terraform) { t.Spec.DestroyResourcesOnDeletion = true }
	for sentence, test := range map[string]struct {
		change  []func(*infrav1.Terraform)
		foreign *reads.Problem
		want    int
	}{
		"a destroyed stack of a tenant":    {[]func(*infrav1.Terraform){ofAcme, destroyed}, nil, 1},
		"nobody's":                         {[]func(*infrav1.Terraform){destroyed}, nil, 0},
		"a stack whose resources are kept": {[]func(*infrav1.Terraform){ofAcme}, nil, 0},
		"another tenant's state":           {[]func(*infrav1.Terraform){ofAcme, destroyed}, &reads.Problem{}, 0},
		"a state in a custom backend":      {[]func(*infrav1.Terraform){ofAcme, destroyed, func(t *infrav1.Terraform) { t.Spec.Cloud = &infrav1.CloudSpec{} }}, nil, 0},
	} {
		states := &discarded{}
		r := &Reconciler{States: states, Log: slog.New(slog.DiscardHandler)}
		// A stack is deleted even when Yuba may not delete its Secrets.
		p := passOver(stackObject(test.change...))
		p.noState = test.foreign
		if err := stateAccessOf(r).discardState(t.Context(), &p.gathered); err != nil || len(states.keys) != test.want {
			t.Errorf("%s: discarded %v, %v", sentence, states.keys, err)
		}
	}
}

// A state may be older than the stack: its outputs are written without any apply.
func TestWhenOutputsMatter(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"something was applied": {func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = revision }, true},
		"the plan had no changes": {func(t *infrav1.Terraform) {
			setCondition(t, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, "nothing")
		}, true},
		"a plan is pending": {func(t *infrav1.Terraform) {
			setCondition(t, infrav1.ConditionPlan, metav1.ConditionTrue, infrav1.ReasonPlannedWithChanges, "something")
		}, false},
		"nothing is known": {func(*infrav1.Terraform) {}, false},
	} {
		p := passOver(stackObject(outputsIn("out"), test.change))
		if got := outputsMatter(&p.decided); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func outputsIn(name string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: name}
	}
}
