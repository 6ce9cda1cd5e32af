// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// deletionHeld: the plan of a deletion waits for a person.
func deletionHeld(o *infrav1.Terraform) bool {
	return o.Status.CurrentRun == nil && o.Status.Plan.IsDeletionPlan && strings.HasPrefix(condition(o, infrav1.ConditionReady).Message, "Deletion waits for approval")
}

func TestAPolicyRefusesADeletion(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := y.policy(t, ns, "keep", denies)
	obj := inline(ns, "kept", onlyOne, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is applied", applied)
	y.delete(t, obj)
	seen := y.await(t, obj, "its deletion is refused", refusedByPolicy)
	if c := condition(seen, infrav1.ConditionReady); !strings.Contains(c.Message, "terraform_data.a") || !strings.Contains(c.Message, "destroyResourcesOnDeletion") {
		t.Errorf("Ready says %s %s", c.Reason, c.Message)
	}
	if c := condition(seen, infrav1.ConditionPlan); c.Reason != infrav1.ReasonPlannedWithChanges || !strings.Contains(c.Message, "refused by policy") {
		t.Errorf("Plan says %s %s", c.Reason, c.Message)
	}
	if seen.Status.Summary != "Deletion refused by keep/no-destroy" {
		t.Errorf("summary %q", seen.Status.Summary)
	}
	if _, news, code := y.run(t, "approve", name(obj)); code == 0 || !strings.Contains(news, "no approval overrides that") {
		t.Errorf("approve: %d %s", code, news)
	}
	if got := y.resources(t, obj); got != 1 {
		t.Errorf("%d resources are left", got)
	}
	y.delete(t, p)
	y.awaitGone(t, obj)
}

func TestADeletionThatPoliciesHoldWaitsForThePersonWhoApprovesItsPlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.policy(t, ns, "safe", frees)
	obj := inline(ns, "held", both, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is applied", applied)
	y.delete(t, obj)
	seen := y.await(t, obj, "its deletion is held", deletionHeld)
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "safe: no-destroy: terraform_data.") || !strings.Contains(message, "yuba approve held") ||
		!strings.Contains(message, "destroyResourcesOnDeletion") {
		t.Errorf("Ready says %q", message)
	}
	if seen.Status.Summary != "Deletion held by safe/no-destroy" {
		t.Errorf("summary %q", seen.Status.Summary)
	}
	deadline := time.Now().Add(patience)
	for !slices.ContainsFunc(y.events(t, obj), func(e string) bool { return strings.Contains(e, "Deletion waits for approval") }) {
		if time.Now().After(deadline) {
			t.Fatalf("no event says how to go on: %q", y.events(t, obj))
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := y.resources(t, obj); got != 2 {
		t.Fatalf("%d resources are left", got)
	}
	plan, run := seen.Status.Plan.Pending, seen.Status.Plan.RunID
	y.must(t, "approve", name(obj), plan)
	y.awaitGone(t, obj)
	list, _ := y.entries(t, obj)
	var applies []string
	for _, e := range list.Chains[0].Items {
		r, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == "apply" && r.Purpose == "delete" {
			applies = append(applies, r.Plan)
		}
		if r.Kind == "decision" && r.Plan == plan && r.Run != run {
			t.Errorf("the approved plan was made again, by run %s", r.Run)
		}
	}
	if !slices.Equal(applies, []string{plan}) {
		t.Errorf("plans that destroyed: %q", applies)
	}
}

func TestADeletionThatNoPolicyObjectsToGoesOn(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := &yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "few"}, Spec: yubav1.PolicySpec{
		Rules: []yubav1.PolicyRule{{Builtin: "max-changes", With: &apiextensionsv1.JSON{Raw: []byte(`{"total":5}`)}}}}}
	y.create(t, p)
	y.observed(t, p)
	obj := inline(ns, "let-go", both, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is applied", applied)
	y.delete(t, obj)
	y.awaitGone(t, obj)
}

func TestEventsSayWhatHappensToAPolicy(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	p := y.policy(t, ns, "odd", func(s *yubav1.PolicySpec) { s.Rules = []yubav1.PolicyRule{{Builtin: "no-such-rule"}} })
	global := &yubav1.ClusterPolicy{ObjectMeta: metav1.ObjectMeta{Name: "odd-" + ns}, Spec: yubav1.ClusterPolicySpec{PolicySpec: *p.Spec.DeepCopy(),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}}}
	y.create(t, global)
	t.Cleanup(func() { _ = y.client.Delete(t.Context(), global) }) // the server ends with the tests
	told := func(where, kind, name, what string) {
		t.Helper()
		deadline := time.Now().Add(patience)
		for {
			out := y.must(t, "kubectl", "get", "events", "-n", where, "--field-selector", "involvedObject.kind="+kind+",involvedObject.name="+name, "-o", "jsonpath={range .items[*]}{.reason}: {.message}{\"\\n\"}{end}")
			if strings.Contains(out, what) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no event of %s %s says %q:\n%s", kind, name, what, out)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	told(ns, "Policy", "odd", "InvalidRule: No plan passes until this is fixed: spec.rules[0]")
	told("default", "ClusterPolicy", global.Name, "InvalidRule: No plan passes until this is fixed: spec.rules[0]")
	change(t, y, p, func(p *yubav1.Policy) { p.Spec.Rules = []yubav1.PolicyRule{{Builtin: "no-destroy"}} })
	told(ns, "Policy", "odd", "Recovered: All rules can be used again: 1 rule")
}
