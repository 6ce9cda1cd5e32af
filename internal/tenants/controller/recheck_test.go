// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
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
		t.Errorf("what has changed is checked at %s", got)
	}
	if got := v.mistaken(name, "b", now).Sub(now); got != time.Minute {
		t.Errorf("what has changed is checked again in %s", got)
	}
	if got := v.unanswered(name, "b", now).Sub(now); got != targetRetryPause {
		t.Errorf("who has not answered is asked again in %s", got)
	}
	if names := v.reopen(); len(names) != 1 || names[0] != name || !v.due(name, "b").IsZero() {
		t.Errorf("after news of kinds: %v", names)
	}
	v.mistaken(name, "a", now)
	if v.forget(name); len(v.all) != 0 {
		t.Errorf("it is remembered: %v", v.all)
	}
}

// Rows that are read every second must not have a template with mistakes tried every second.
func TestATemplateWithMistakesAsksNothingWhileNothingChanges(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(3)...)
	w.registry(func(s *tenantv1.TenantRegistrySpec) { s.Source.SyncInterval = "1s" })
	w.template("web", oneConfigMap+`
deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec: {spec: {replicas: 1}}
`)
	w.eventually("it is checked with the rows", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return len(tpl.Status.Conditions) > 0 && w.registryCondition(tenantv1.ConditionReady).Status == metav1.ConditionTrue
	})
	w.eventually("nothing but rows is asked for", func() bool {
		since := running.requests.mark()
		readings := 0
		w.eventually("the rows are read", func() bool {
			readings = 0
			for _, r := range running.requests.of(w.namespace, since) {
				if strings.HasSuffix(r, "/configmaps/table") {
					readings++
				}
			}
			return readings >= 3
		})
		for _, r := range running.requests.of(w.namespace, since) {
			if strings.HasPrefix(r, http.MethodPatch+" ") {
				return false
			}
		}
		return true
	})
	// The rows count: who is there now may be who it is well for.
	w.template("web", oneConfigMap)
	w.ready("t00-web")
}

func TestWhatATemplateSaysBeforeItsTenantsHaveIt(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*templatePass)
		status metav1.ConditionStatus
		reason string
		has    string
	}{
		"its tenants have it": {func(*templatePass) {}, metav1.ConditionTrue, tenantv1.ReasonAllTenantsReady, "2 of 2"},
		"it has just changed": {func(p *templatePass) { p.obj.Status.Rollout.TargetGeneration = 1 }, metav1.ConditionFalse, tenantv1.ReasonRolloutInProgress, "2 of 2"},
		"it has changed, and the rows cannot be read": {func(p *templatePass) {
			p.obj.Status.Rollout.TargetGeneration, p.told.unread = 1, "no route"
		}, metav1.ConditionFalse, tenantv1.ReasonRegistryNotRead, "customers are not known: no route"},
		"the rows cannot be read any more": {func(p *templatePass) { p.told.unread = "no route" }, metav1.ConditionTrue, tenantv1.ReasonAllTenantsReady, "2 of 2"},
		"the rows were never read": {func(p *templatePass) {
			p.obj.Status.Rollout, p.total, p.ready, p.told.unread = nil, 0, 0, "no route"
		}, metav1.ConditionFalse, tenantv1.ReasonRegistryNotRead, "no route"},
		"no row is active": {func(p *templatePass) {
			p.obj.Status.Rollout.Phase, p.total, p.ready = tenantv1.RolloutIdle, 0, 0
		}, metav1.ConditionTrue, tenantv1.ReasonNoTenants, "no row is active"},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}, Spec: tenantv1.TenantTemplateSpec{RegistryID: "customers"}}
			obj.Status.Rollout = &tenantv1.RolloutStatus{Phase: tenantv1.RolloutComplete, TargetGeneration: 2}
			setCondition(obj, tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed, "")
			p := &templatePass{obj: obj, registry: &tenantv1.TenantRegistry{}, total: 2, ready: 2}
			c.change(p)
			status, reason, message := applied(p, p.obj.Status.Rollout)
			if status != c.status || reason != c.reason || !strings.Contains(message, c.has) {
				t.Errorf("it says %s %s: %s", status, reason, message)
			}
		})
	}
}

func TestATemplateWhoseRegistryCannotBeReadSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.registry(nil) // its table is not there
	w.template("web", oneConfigMap)
	w.eventually("it says why it has no tenants", func() bool {
		c := w.appliedOf("web")
		return c.Status == metav1.ConditionFalse && c.Reason == tenantv1.ReasonRegistryNotRead && strings.Contains(c.Message, "table")
	})
	w.rows("acme,a,0,pro")
	w.eventually("it says that there are none", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonNoTenants })
}
