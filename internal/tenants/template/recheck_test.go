// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

func TestATemplateWithMistakesIsCheckedLessAndLessOften(t *testing.T) {
	v, name, now := newVerdicts(), types.NamespacedName{Name: "web"}, time.Unix(1000, 0)
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if got := v.mistaken(name, "a", now).Sub(now); got != want {
			t.Errorf("after check %d: in %s, want %s", i+1, got, want)
		}
	}
	if got := v.due(name, "a").Sub(now); got != 10*time.Minute {
		t.Errorf("it is checked in %s", got)
	}
	if got := v.due(name, "b"); !got.IsZero() {
		t.Errorf("a change is checked at %s", got)
	}
	if got := v.mistaken(name, "b", now).Sub(now); got != time.Minute {
		t.Errorf("a change is checked again in %s", got)
	}
	if got := v.unanswered(name, "b", now).Sub(now); got != passes.RetryPause {
		t.Errorf("after no answer, the next check is in %s", got)
	}
	if names := v.reopen(); len(names) != 1 || names[0] != name || !v.due(name, "b").IsZero() {
		t.Errorf("after news of kinds: %v", names)
	}
	v.mistaken(name, "a", now)
	if v.forget(name); len(v.all) != 0 {
		t.Errorf("it is remembered: %v", v.all)
	}
}

// Rows that are read every second must not cause a check of an invalid template every second.
func TestWhatATemplateSaysBeforeItsTenantsHaveIt(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*pass)
		status metav1.ConditionStatus
		reason string
		has    string
	}{
		"its tenants have it": {func(*pass) {}, metav1.ConditionTrue, tenantv1.ReasonAllTenantsReady, "2 of 2"},
		"it has just changed": {func(p *pass) { p.obj.Status.Rollout.TargetGeneration = 1 }, metav1.ConditionFalse, tenantv1.ReasonRolloutInProgress, "2 of 2"},
		"it has changed, and the rows cannot be read": {func(p *pass) {
			p.obj.Status.Rollout.TargetGeneration, p.told.Unread = 1, "no route"
		}, metav1.ConditionFalse, tenantv1.ReasonRegistryNotRead, "customers are unknown: no route"},
		"the rows cannot be read any more": {func(p *pass) { p.told.Unread = "no route" }, metav1.ConditionTrue, tenantv1.ReasonAllTenantsReady, "2 of 2"},
		"the rows were never read": {func(p *pass) {
			p.obj.Status.Rollout, p.total, p.ready, p.told.Unread = nil, 0, 0, "no route"
		}, metav1.ConditionFalse, tenantv1.ReasonRegistryNotRead, "no route"},
		"no row is active": {func(p *pass) {
			p.obj.Status.Rollout.Phase, p.total, p.ready = tenantv1.RolloutIdle, 0, 0
		}, metav1.ConditionTrue, tenantv1.ReasonNoTenants, "no row is active"},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}, Spec: tenantv1.TenantTemplateSpec{RegistryID: "customers"}}
			obj.Status.Rollout = &tenantv1.RolloutStatus{Phase: tenantv1.RolloutComplete, TargetGeneration: 2}
			passes.SetCondition(obj, tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed, "")
			p := &pass{obj: obj, registry: &tenantv1.TenantRegistry{}, total: 2, ready: 2}
			c.change(p)
			status, reason, message := applied(p, p.obj.Status.Rollout)
			if status != c.status || reason != c.reason || !strings.Contains(message, c.has) {
				t.Errorf("it says %s %s: %s", status, reason, message)
			}
		})
	}
}
