// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

type change = func(*infrav1.Terraform)

func stack(changes ...change) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc"}}
	for _, change := range changes {
		change(t)
	}
	return t
}

func ready(status metav1.ConditionStatus, reason, message string) change {
	return func(t *infrav1.Terraform) {
		t.Status.ObservedGeneration = 1
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: message})
	}
}

func TestOf(t *testing.T) {
	deleted := func(t *infrav1.Terraform) { now := metav1.NewTime(time.Unix(1, 0)); t.DeletionTimestamp = &now }
	suspended := func(t *infrav1.Terraform) { t.Spec.Suspend = true }
	runs := func(t *infrav1.Terraform) {
		t.Status.CurrentRun = &infrav1.RunReference{ID: "r1", Operation: "plan", Status: "running"}
	}
	waits := func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Status.Plan.Summary = "p1", "+1 ~0 -0" }
	rejected := func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationRejected: "p1"} }
	paused := func(t *infrav1.Terraform) {
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPaused, Status: metav1.ConditionTrue, Message: "aws is unavailable"})
	}
	planned := ready(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, "Plan generated")
	for sentence, c := range map[string]struct {
		stack *infrav1.Terraform
		state State
		says  string
	}{
		"new":                               {stack(), Running, "Not reconciled yet."},
		"ready":                             {stack(ready(metav1.ConditionTrue, infrav1.ReasonApplied, " Applied ")), Ready, "Applied"},
		"failed":                            {stack(ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "Error: no")), Failed, "Error: no"},
		"drift":                             {stack(ready(metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")), Drift, "Drift detected."},
		"a lock is held":                    {stack(ready(metav1.ConditionFalse, infrav1.ReasonLockHeld, "Locked by ada")), Waiting, "Locked by ada"},
		"paused by a circuit breaker":       {stack(ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "Error: no"), paused), Waiting, "aws is unavailable"},
		"a plan waits":                      {stack(planned, waits), Pending, "The plan waits for approval: +1 ~0 -0."},
		"a plan is rejected":                {stack(planned, waits, rejected), Refused, "Plan generated"},
		"another plan was rejected":         {stack(planned, waits, rejected, func(t *infrav1.Terraform) { t.Status.Plan.Pending = "p2" }), Pending, "The plan waits for approval: +1 ~0 -0."},
		"a run executes while a plan waits": {stack(planned, waits, runs), Running, "Run r1 (plan) is running."},
		"suspended while a run executes":    {stack(planned, runs, suspended), Suspended, "Suspended: Yuba does nothing until it is resumed."},
		"being deleted":                     {stack(ready(metav1.ConditionUnknown, infrav1.ReasonProgressing, "Destroying"), deleted), Deleting, "Destroying"},
		"a deletion that fails":             {stack(ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "Error: no"), deleted), Failed, "Error: no"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if state, says := Of(c.stack), Sentence(c.stack); state != c.state || says != c.says {
				t.Errorf("%s %q, want %s %q", state, says, c.state, c.says)
			}
		})
	}
}

func TestOfConditions(t *testing.T) {
	for sentence, c := range map[string]struct {
		status    metav1.ConditionStatus
		reason    string
		suspended bool
		want      State
	}{
		"nothing is known":  {"", "", false, Running},
		"ready":             {metav1.ConditionTrue, "Succeeded", false, Ready},
		"suspended":         {metav1.ConditionTrue, "Succeeded", true, Suspended},
		"in progress":       {metav1.ConditionFalse, infrav1.ReasonProgressing, false, Running},
		"it waits":          {metav1.ConditionFalse, infrav1.ReasonDependencyNotReady, false, Waiting},
		"pruning is held":   {metav1.ConditionFalse, reasonPruneHeld, false, Pending},
		"an unknown reason": {metav1.ConditionFalse, "Odd", false, Failed},
	} {
		var conditions []metav1.Condition
		if c.status != "" {
			conditions = []metav1.Condition{{Type: "Ready", Status: c.status, Reason: c.reason}}
		}
		if state, _ := OfConditions(&metav1.ObjectMeta{}, conditions, c.suspended); state != c.want {
			t.Errorf("%s: %s, want %s", sentence, state, c.want)
		}
	}
}

func TestWorst(t *testing.T) {
	for want, states := range map[State][]State{Ready: nil, Failed: {Ready, Failed, Pending}, Pending: {Drift, Pending, Ready}, Suspended: {Suspended, Missing}} {
		if got := Worst(states...); got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}

func TestHeldPrune(t *testing.T) {
	for sentence, c := range map[string]struct{ reason, confirmed, want string }{
		"nothing is held":       {"Succeeded", "", ""},
		"held":                  {reasonPruneHeld, "", "main@2"},
		"confirmed":             {reasonPruneHeld, "main@2", ""},
		"another was confirmed": {reasonPruneHeld, "main@1", "main@2"},
	} {
		k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationConfirmPrune: c.confirmed}}}
		k.Status.LastAttemptedRevision = "main@2"
		k.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: c.reason}}
		if got, _ := HeldPrune(k); got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}

func TestHeldDeletion(t *testing.T) {
	for sentence, c := range map[string]struct {
		held      *tenantv1.HeldDeletion
		confirmed string
		want      bool
	}{
		"nothing is held":       {nil, "", false},
		"held":                  {&tenantv1.HeldDeletion{ID: "b"}, "", true},
		"somebody confirmed it": {&tenantv1.HeldDeletion{ID: "b"}, "b", false},
		"another was confirmed": {&tenantv1.HeldDeletion{ID: "b"}, "a", true},
		"it goes on":            {&tenantv1.HeldDeletion{ID: "b", Confirmed: true}, "", false},
	} {
		g := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{tenantv1.AnnotationConfirmDeletion: c.confirmed}}}
		g.Status.Held = c.held
		if got := HeldDeletion(g) != nil; got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func TestAppliedBy(t *testing.T) {
	for sentence, c := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"nobody":                  {nil, "/"},
		"of another namespace":    {map[string]string{LabelKustomization: "apps", LabelKustomizationNamespace: "flux"}, "flux/apps"},
		"of the same namespace":   {map[string]string{LabelKustomization: "apps"}, "team/apps"},
		"a namespace is no owner": {map[string]string{LabelKustomizationNamespace: "flux"}, "/"},
	} {
		if namespace, name := AppliedBy("team", c.labels); namespace+"/"+name != c.want {
			t.Errorf("%s: %s/%s, want %s", sentence, namespace, name, c.want)
		}
	}
}

func TestTenantOf(t *testing.T) {
	owned := func(version string) change {
		return func(t *infrav1.Terraform) {
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: "Tenant", Name: "acme"}}
		}
	}
	labelled := func(t *infrav1.Terraform) {
		t.Labels = map[string]string{tenantv1.LabelTenant: "labelled", tenantv1.LabelTenantNamespace: "customers"}
	}
	for sentence, c := range map[string]struct {
		stack *infrav1.Terraform
		want  string
	}{
		"none":           {stack(), ""},
		"by its owner":   {stack(owned(tenantv1.GroupVersion.String())), "team/acme"},
		"another Tenant": {stack(owned("example.com/v1")), ""},
		"by its labels":  {stack(labelled), "customers/labelled"},
		"by both":        {stack(labelled, owned(tenantv1.GroupVersion.String())), "customers/labelled"},
	} {
		if got := TenantOf(c.stack); got != c.want {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}
