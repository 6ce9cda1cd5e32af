// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/acts"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// stack makes a stack that is ready, and then changes it.
func stack(name string, changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	says(infrav1.ConditionReady, metav1.ConditionTrue, infrav1.ReasonApplied, "Applied")(t)
	for _, change := range changes {
		change(t)
	}
	return t
}

func says(kind string, status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		for i := range t.Status.Conditions {
			if t.Status.Conditions[i].Type == kind {
				t.Status.Conditions = append(t.Status.Conditions[:i:i], t.Status.Conditions[i+1:]...)
				break
			}
		}
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)})
	}
}

// waits gives the stack a pending plan with these changes.
func waits(changes string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.Plan = infrav1.PlanStatus{Pending: "plan-1", Digest: "sha256:bytes-of-" + t.Name, ChangesDigest: changes, Summary: "+1 ~0 -0"}
		says(infrav1.ConditionReady, metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, "Plan generated")(t)
	}
}

func fails(message string) func(*infrav1.Terraform) {
	return says(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonPlanFailed, message)
}

func destroys(t *infrav1.Terraform) { t.Status.Plan.IsDestroyPlan = true }

// shown writes the inbox as lines.
func shown(v *view) string {
	var b strings.Builder
	var write func(indent string, e entry)
	write = func(indent string, e entry) {
		fmt.Fprintf(&b, "%s%s [%s] %s", indent, e.Title, e.Word, e.Text)
		for _, button := range e.Buttons {
			fmt.Fprintf(&b, " (%s)", button.Label)
		}
		for _, link := range e.Links {
			fmt.Fprintf(&b, " <%s>", link.Text)
		}
		b.WriteString("\n")
		for _, folded := range e.Fold {
			write(indent+"  ", folded)
		}
	}
	for _, s := range v.Sections {
		b.WriteString(s.ID + "\n")
		for _, e := range s.Entries {
			write("  ", e)
		}
	}
	return b.String()
}

func TestArrange(t *testing.T) {
	for sentence, test := range map[string]struct {
		world world
		want  string
		count int
	}{
		"nothing waits": {world{stacks: []*infrav1.Terraform{stack("a")}}, "", 0},
		"a plan waits": {world{stacks: []*infrav1.Terraform{stack("a", waits("x")), stack("b")}},
			"plans\n  team/a [pending] Waits for approval. (Approve) (Reject) <with a comment…>\n", 1},
		"plans that change the same are one": {world{stacks: []*infrav1.Terraform{stack("a", waits("x")), stack("b", waits("y")), stack("c", waits("x"))}},
			`plans
  2 stacks with the same changes [pending] Waits for approval. <Approve all 2…> <Reject all 2…>
    team/a [pending] Waits for approval. (Approve) (Reject) <with a comment…>
    team/c [pending] Waits for approval. (Approve) (Reject) <with a comment…>
  team/b [pending] Waits for approval. (Approve) (Reject) <with a comment…>
`, 3},
		"plans without a digest are never the same": {world{stacks: []*infrav1.Terraform{stack("a", waits("")), stack("b", waits(""))}},
			"plans\n  team/a [pending] Waits for approval. (Approve) (Reject) <with a comment…>\n  team/b [pending] Waits for approval. (Approve) (Reject) <with a comment…>\n", 2},
		"a destruction is never folded with a change": {world{stacks: []*infrav1.Terraform{stack("a", waits("x")), stack("b", waits("x"), destroys)}},
			"plans\n  team/a [pending] Waits for approval. (Approve) (Reject) <with a comment…>\n  team/b [pending] Destroys everything that the stack manages. (Approve) (Reject) <with a comment…>\n", 2},
		"a rejected plan waits for nobody": {world{stacks: []*infrav1.Terraform{stack("a", waits("x"), func(t *infrav1.Terraform) {
			t.Annotations = map[string]string{infrav1.AnnotationRejected: "plan-1"}
		})}}, "", 0},
		"failures with one cause are one": {world{stacks: []*infrav1.Terraform{stack("a", fails("Error: no a1")), stack("b", fails("Error: no b2")), stack("c", fails("Error: other"))}},
			`failures
  2 stacks with the same failure [failed] no # <Replan all 2…> <See the stacks>
    team/a [failed] Error: no a1
    team/b [failed] Error: no b2
  team/c [failed] Error: other
`, 3},
		"what the person has seen is not shown again": {world{seen: now.Add(-time.Minute), stacks: []*infrav1.Terraform{stack("a", fails("Error: old"))}}, "", 0},
		"work by hand": {world{stacks: []*infrav1.Terraform{
			stack("glass", func(t *infrav1.Terraform) { t.Spec.BreakTheGlass = true }),
			stack("locked", says(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonLockHeld, "Locked by ada.\nRun:\n    yuba force-unlock")),
			stack("missing", says(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonStateMissing, "The state is gone.")),
			stack("unproven", says(infrav1.ConditionUnproven, metav1.ConditionTrue, infrav1.ReasonApplyCutOff, "aws_vpc.main may exist.")),
		}}, `manual
  team/glass [ready] Somebody works on it manually (break the glass). Yuba starts no runs until that is taken back.
  team/locked [waiting] Locked by ada.
  team/missing [failed] The state is gone.
  team/unproven [ready] aws_vpc.main may exist.
`, 4},
		"held deletions": {world{kustomizations: []*kustomizev1.Kustomization{
			kustomization("held", "main@1", ""), kustomization("confirmed", "main@1", "main@1"), kustomization("before", "main@2", "main@1")},
			registries: []*tenantv1.TenantRegistry{registry("held", tenantv1.HeldDeletion{ID: "a", Count: 12, Tenants: []string{"x", "y"}, Message: "12 of 20 rows are gone"}, ""),
				registry("confirmed", tenantv1.HeldDeletion{ID: "a", Confirmed: true}, ""), registry("asked", tenantv1.HeldDeletion{ID: "a"}, "a")}},
			`held
  TenantRegistry team/held [pending] 12 of 20 rows are gone (Delete 12 tenants)
  Kustomization team/before [pending] pruning 12 of 14 objects (Prune)
  Kustomization team/held [pending] pruning 12 of 14 objects (Prune)
`, 3},
		"outages": {world{circuits: []*yubav1.CircuitBreaker{circuit("aws", yubav1.StateOpen, yubav1.ModeAutomatic), circuit("over", yubav1.StateClosed, ""), circuit("kept", yubav1.StateHalfOpen, yubav1.ModeOpen)}},
			"outages\n  CircuitBreaker aws [waiting] Provider hashicorp/aws is unavailable (Close) <Its failures by cause>\n  CircuitBreaker kept [waiting] Provider hashicorp/aws is unavailable (Make automatic) <Its failures by cause>\n", 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.world.now = now
			v := arrange(&test.world)
			if got := shown(v); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if got := count(&test.world); got != test.count {
				t.Errorf("counts %d, want %d", got, test.count)
			}
			ids := map[string]bool{}
			for _, s := range v.Sections {
				for _, e := range s.Entries {
					if ids[e.ID] {
						t.Errorf("two entries have the id %s", e.ID)
					}
					ids[e.ID] = true
				}
			}
		})
	}
}

func kustomization(name, revision, confirmed string) *kustomizev1.Kustomization {
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Annotations: map[string]string{annotationConfirmPrune: confirmed}}}
	k.Status.LastAttemptedRevision = revision
	k.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: reasonPruneHeld, Message: "pruning 12 of 14 objects", LastTransitionTime: ago(time.Hour)}}
	return k
}

func registry(name string, h tenantv1.HeldDeletion, confirmed string) *tenantv1.TenantRegistry {
	g := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Annotations: map[string]string{tenantv1.AnnotationConfirmDeletion: confirmed}}}
	g.Status.Held = &h
	return g
}

func circuit(name string, state yubav1.CircuitBreakerState, mode yubav1.CircuitBreakerMode) *yubav1.CircuitBreaker {
	c := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: yubav1.CircuitBreakerSpec{Mode: mode}}
	c.Status.State = state
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Message: "Provider hashicorp/aws is unavailable"}}
	return c
}

func TestForesee(t *testing.T) {
	visible := []*infrav1.Terraform{stack("a", waits("x")), stack("b", waits("x")), stack("c"), stack("d", waits("y"), func(t *infrav1.Terraform) { t.Spec.Suspend = true }),
		stack("e", waits("x"), destroys)}
	for sentence, test := range map[string]struct {
		verb acts.Verb
		rows []string
		want string
	}{
		"what a fold stands for": {acts.Approve, []string{"like:x"}, "team/a: The plan is applied: +1 ~0 -0.\nteam/b: The plan is applied: +1 ~0 -0.\nteam/e: Everything that it manages is destroyed.\n"},
		"a stack twice":          {acts.Reject, []string{"team/a plan-1 sha256:bytes-of-a", "like:x", "team/a"}, "team/a: The plan is never applied. A change, or a replan, makes another one.\nteam/b: The plan is never applied. A change, or a replan, makes another one.\nteam/e: The plan is never applied. A change, or a replan, makes another one.\n"},
		"what cannot be done":    {acts.Approve, []string{"team/c", "team/a", "team/d", "team/gone"}, "team/a: The plan is applied: +1 ~0 -0.\nteam/c: CANNOT No plan waits for approval.\nteam/d: CANNOT The stack is suspended.\nteam/gone: CANNOT It does not exist any more, or you may not see it.\n"},
		"a plan that moved":      {acts.Approve, []string{"team/a plan-0 sha256:old"}, "team/a: CANNOT It has moved on: you selected plan plan-0, and now plan-1 is pending.\n"},
		"other bytes":            {acts.Approve, []string{"team/a plan-1 sha256:old"}, "team/a: CANNOT Plan plan-1 has other bytes than when you selected it.\n"},
		"replans do not mind":    {acts.Replan, []string{"team/a plan-0 sha256:old", "team/d"}, "team/a: It is planned again.\nteam/d: CANNOT It is suspended. Resume it first.\n"},
		"nothing":                {acts.Approve, nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			selected, err := parseSelection(test.rows)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, s := range foresee(test.verb, selected, nil, visible) {
				got += s.Key + ": "
				if s.Cannot != "" {
					got += "CANNOT " + s.Cannot
				}
				got += s.Will + "\n"
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	for _, bad := range []string{"", "a", "/b", "a/", "a/b/c", "a/b c d e", "like:"} {
		if _, err := parseSelection([]string{bad}); err == nil {
			t.Errorf("%q selects something", bad)
		}
	}
}

func TestResultsAreThoseOfTheirPerson(t *testing.T) {
	var x results
	for i := range maxResults + 5 {
		x.keep(&outcomes{person: "ada", id: fmt.Sprint(i), at: now})
	}
	if x.get("ada", "0") != nil || x.get("ada", "204") == nil || x.get("eve", "204") != nil || len(x.all) != maxResults {
		t.Error("results are not bounded, or others see them")
	}
	x.keep(&outcomes{person: "ada", id: "late", at: now.Add(2 * resultLife)})
	if len(x.all) != 1 {
		t.Errorf("%d results are kept for ever", len(x.all)-1)
	}
}
