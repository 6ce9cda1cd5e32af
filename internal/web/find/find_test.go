// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/registry/usage"
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

func TestAnswersAreBounded(t *testing.T) {
	var a answers
	key := func(i int) asked { return asked{"ada", fmt.Sprint(i)} }
	uses := func(n int) []usage.User { return make([]usage.User, n) }
	for i := range 10 {
		a.keep(key(i), uses(maxUses/10), now)
	}
	if _, ok := a.get(key(0), now); !ok || a.uses != maxUses {
		t.Errorf("%d uses are kept, the first: %v", a.uses, ok)
	}
	a.keep(key(3), uses(5), now)
	if a.uses != maxUses-maxUses/10+5 {
		t.Errorf("an answer that is replaced counts: %d", a.uses)
	}
	a.keep(key(11), uses(maxUses), now)
	if _, ok := a.get(key(0), now); ok || a.uses != maxUses || len(a.known) != 1 {
		t.Errorf("%d uses of %d answers are kept", a.uses, len(a.known))
	}
	if a.keep(key(12), uses(maxUses+1), now); len(a.known) != 0 || a.uses != 0 {
		t.Errorf("an answer that is too large is kept: %d", a.uses)
	}
	a.keep(key(1), uses(1), now)
	later := now.Add(remembered)
	if _, ok := a.get(key(1), later); ok {
		t.Error("an old answer is used again")
	}
	if a.keep(key(2), uses(2), later); a.uses != 2 || len(a.known) != 1 {
		t.Errorf("old answers stay: %d uses of %d", a.uses, len(a.known))
	}
	for i := range 3 * maxAnswers {
		a.keep(key(i), nil, later)
	}
	if len(a.known) > maxAnswers {
		t.Errorf("%d answers", len(a.known))
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
