// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func stack(change func(t *infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	change(t)
	return t
}

func TestTenantOf(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   string
	}{
		"none": {func(*infrav1.Terraform) {}, ""},
		"by its owner": {func(t *infrav1.Terraform) {
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: "Tenant", Name: "acme"}}
		}, "ns/acme"},
		"another Tenant": {func(t *infrav1.Terraform) {
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Tenant", Name: "acme"}}
		}, ""},
		"by its labels": {func(t *infrav1.Terraform) {
			t.Labels = map[string]string{tenantv1.LabelTenant: "acme", tenantv1.LabelTenantNamespace: "customers"}
		}, "customers/acme"},
	} {
		if got := TenantOf(stack(test.change)); got != test.want {
			t.Errorf("%s: got %q, want %q", sentence, got, test.want)
		}
	}
}

func TestProblem(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			t.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: "m"}}
		}
	}
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   cause.Kind
	}{
		"ready":              {ready(metav1.ConditionTrue, infrav1.ReasonApplied), ""},
		"failed":             {ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed), cause.Failure},
		"drift":              {ready(metav1.ConditionFalse, infrav1.ReasonDriftDetected), cause.Drift},
		"locked by another":  {ready(metav1.ConditionFalse, infrav1.ReasonLockHeld), cause.Failure},
		"waits for a plan":   {ready(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges), ""},
		"not reconciled yet": {func(*infrav1.Terraform) {}, ""},
	} {
		s := stack(test.change)
		if got, ok := Problem(s, standing.Of(s)); ok != (test.want != "") || ok && got.Kind != test.want {
			t.Errorf("%s: got %+v, want %q", sentence, got, test.want)
		}
	}
}

func TestChanged(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { m := metav1.NewTime(now.Add(-d)); return &m }
	s := stack(func(*infrav1.Terraform) {})
	if got := now.Sub(Changed(s)); got != time.Hour {
		t.Errorf("a new stack changed %s ago", got)
	}
	s.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, LastTransitionTime: *at(30 * time.Minute)}}
	s.Status.LastRun = &infrav1.RunReference{StartedAt: at(20 * time.Minute), FinishedAt: at(10 * time.Minute)}
	if got := now.Sub(Changed(s)); got != 10*time.Minute {
		t.Errorf("it changed %s ago", got)
	}
	s.Status.CurrentRun = &infrav1.RunReference{StartedAt: at(time.Minute)}
	if got := now.Sub(Changed(s)); got != time.Minute {
		t.Errorf("it changed %s ago", got)
	}
}

func TestMatchSortsByStateAndName(t *testing.T) {
	failed := stack(func(t *infrav1.Terraform) {
		t.Name, t.Status.Conditions = "z", []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed}}
	})
	suspended := func(name string) *infrav1.Terraform {
		return stack(func(t *infrav1.Terraform) { t.Name, t.Spec.Suspend = name, true })
	}
	got := Match([]*infrav1.Terraform{suspended("b"), failed, suspended("a")}, query.Query{}, query.Facts{Now: now}, true)
	if len(got) != 3 || got[0].Name != "z" || got[1].Name != "a" || got[2].Name != "b" || got[0].Facts.Cause == "" || got[1].Facts.Cause != "" {
		t.Errorf("%+v", got)
	}
}
