// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"testing"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
)

// A tenant's events report an object's own failure once, and again if the failure changes.
func TestAnObjectThatHasFailedIsTold(t *testing.T) {
	p := &pass{memory: newMemory(""), before: &tenantv1.Tenant{}}
	tell := func(verb decide.Verb, message string) int {
		p.news = nil
		p.tellObject(&item{id: "db"}, decide.ObjectDecision{ID: "db", Verb: verb, Message: message})
		return len(p.news)
	}
	for _, step := range []struct {
		verb    decide.Verb
		message string
		want    int
	}{
		{decide.VerbLeave, "", 0},
		{decide.VerbFailed, "no quota", 1},
		{decide.VerbFailed, "no quota", 0},
		{decide.VerbFailed, "no route", 1},
		{decide.VerbLeave, "", 0},
		{decide.VerbFailed, "no route", 1},
	} {
		if got := tell(step.verb, step.message); got != step.want {
			t.Errorf("%s %q: %d events, want %d", step.verb, step.message, got, step.want)
		}
	}
}

func TestWhatIsInTheWayIsSaidOnce(t *testing.T) {
	p := &pass{obj: &tenantv1.Tenant{}}
	p.obj.Status.Waiting = []tenantv1.WaitingResource{{ID: "db", Reason: WaitFailed, Message: "no source"}, {ID: "app", Reason: WaitDependency, Message: "waits for db"}}
	if got := p.firstTrouble("0 of 2 objects are ready; failed: db (no source)"); got != "" {
		t.Errorf("reported again:%s", got)
	}
	if got := p.firstTrouble("0 of 2 objects are ready"); got != ". db: no source" {
		t.Errorf("reported:%s", got)
	}
}

// A tenant's events report that a template is in place, but not each recovery of an object.
func TestATemplateIsSaidToBeInPlaceOnce(t *testing.T) {
	m, status := newMemory(""), tenantv1.TenantStatus{}
	look := func(changed, ready bool) (told int) {
		p := &pass{memory: m, obj: &tenantv1.Tenant{Status: status}, before: &tenantv1.Tenant{Status: status}, plan: &plan{}}
		p.items = []*item{{id: "db", changed: changed, broken: "what it is does not matter here"}}
		p.decision = decide.TenantDecision{Desired: 1, Objects: []decide.ObjectDecision{{ID: "db", Verb: decide.VerbLeave, Ready: ready}}}
		if p.decision.Ready = (decide.Condition{True: ready, Reason: "Any"}); ready {
			p.decision.ReadyCount = 1
		}
		p.describe()
		status = p.obj.Status
		return len(p.news)
	}
	for i, step := range []struct {
		changed, ready bool
		want           int
	}{
		{true, false, 0},  // it is written,
		{false, false, 0}, // on its way,
		{false, true, 1},  // and in place.
		{false, false, 0}, // It is restarted automatically,
		{false, true, 0},  // which is not news.
		{true, false, 0},  // It is changed
		{false, true, 1},  // and in place again.
		{true, true, 1},   // It is ready at once.
	} {
		if got := look(step.changed, step.ready); got != step.want {
			t.Errorf("step %d: %d events, want %d", i+1, got, step.want)
		}
	}
}
