// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// holding is a program with one resource.
func holding(resource string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = \"x\"\n}\n", resource)
}

// addresses lists the resources in the state of a stack.
func (y *yuba) addresses(t *testing.T, obj *infrav1.Terraform) string {
	t.Helper()
	var list []string
	for _, r := range y.lastState(t, obj.Namespace, stateSecret(obj)).Resources {
		list = append(list, r.Address+" "+r.ID)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// succeeded creates a stack, deletes it, and creates another one of the same name. It returns that
// stack and the resource of the first one.
func (y *yuba) succeeded(t *testing.T, ns, name string, change ...func(*infrav1.Terraform)) (*infrav1.Terraform, string) {
	t.Helper()
	former := inline(ns, name, holding("a"), auto)
	y.create(t, former)
	y.await(t, former, "it is ready", ready)
	made := y.addresses(t, former)
	y.delete(t, former)
	y.awaitGone(t, former)
	obj := inline(ns, name, holding("b"), change...)
	y.create(t, obj)
	return obj, made
}

// heldBack reports whether a plan waits because the state belongs to a deleted stack.
func heldBack(obj *infrav1.Terraform) bool { return waiting(obj) && obj.Status.TakenOver != nil }

func TestWhatADeletedStackLeftIsNotDestroyedUnasked(t *testing.T) {
	y, ns := common(t)
	for name, change := range map[string][]func(*infrav1.Terraform){
		"auto":    {auto},
		"force":   {func(o *infrav1.Terraform) { o.Spec.Force = true }},
		"destroy": {auto, func(o *infrav1.Terraform) { o.Spec.Destroy = true }},
		"manual":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj, made := y.succeeded(t, ns, name, change...)
			seen := y.await(t, obj, "its plan waits", heldBack)
			if from := seen.Status.TakenOver; from.Name != name || from.DeletedAt == nil || from.UID == string(obj.UID) {
				t.Errorf("taken over from %+v", from)
			}
			m := condition(seen, infrav1.ConditionReady).Message
			if !strings.Contains(m, "took over the state of "+ns+"/"+name+" (deleted 20") {
				t.Errorf("the message does not tell: %s", m)
			}
			if now := y.addresses(t, obj); now != made {
				t.Errorf("the state holds %s, want %s", now, made)
			}
			out, _, _ := y.run(t, "status", name, "-n", ns)
			for _, want := range []string{"State       that of " + ns + "/" + name + ", deleted 20", "yuba approve", "yuba state drop"} {
				if !strings.Contains(out, want) {
					t.Errorf("status lacks %q:\n%s", want, out)
				}
			}

			_, news, code := y.run(t, "approve", name, "-n", ns, seen.Status.Plan.Pending)
			if code != 0 {
				t.Fatalf("approve: %s", news)
			}
			y.await(t, obj, "it is applied, and the state is its own", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.TakenOver == nil })
			if now := y.addresses(t, obj); strings.Contains(now, "terraform_data.a") {
				t.Errorf("the state holds %s", now)
			}
		})
	}
}

func TestAfterOneApprovalPlansAreAppliedAutomaticallyAgain(t *testing.T) {
	y, ns := common(t)
	obj, _ := y.succeeded(t, ns, "net", auto)
	seen := y.await(t, obj, "its plan waits", heldBack)
	if _, news, code := y.run(t, "approve", "net", "-n", ns, seen.Status.Plan.Pending, "--wait"); code != 0 {
		t.Fatalf("approve: %s", news)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = holding("c") })
	y.await(t, obj, "the change is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.ObservedGeneration == o.Generation && strings.HasPrefix(y.addresses(t, o), "terraform_data.c")
	})
}

func TestTheSameStackGoesOnWithItsState(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "net", holding("a"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	made := y.addresses(t, obj)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	again := inline(ns, "net", holding("a"), auto, destroying)
	y.create(t, again)
	y.await(t, again, "it is ready without an approval", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.TakenOver == nil })
	if now := y.addresses(t, again); now != made {
		t.Errorf("the state holds %s, want %s", now, made)
	}
	// From here on, the state belongs to the new stack, and is destroyed with it.
	y.delete(t, again)
	y.awaitGone(t, again)
	if now := y.addresses(t, again); now != "" {
		t.Errorf("the state holds %s", now)
	}
	// An empty state belongs to nobody.
	third := inline(ns, "net", holding("b"), auto)
	y.create(t, third)
	y.await(t, third, "it is applied without an approval", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRun != "" })
}

func TestDeletionDoesNotDestroyWhatADeletedStackLeft(t *testing.T) {
	y, ns := common(t)
	obj, made := y.succeeded(t, ns, "net", auto, destroying)
	y.await(t, obj, "its plan waits", heldBack)
	y.delete(t, obj)
	seen := y.await(t, obj, "its deletion waits", failedWith(infrav1.ReasonStateTakenOver))
	if m := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(m, "yuba state adopt") || !strings.Contains(m, "destroyResourcesOnDeletion: false") {
		t.Errorf("the message does not help: %s", m)
	}
	t.Run("it goes when the resources are to stay", func(t *testing.T) {
		change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion = false })
		y.awaitGone(t, obj)
		if now := y.addresses(t, obj); now != made {
			t.Errorf("the state holds %s, want %s", now, made)
		}
	})
	t.Run("the next one is still asked, for it is still not its own, and destroys when that is adopted", func(t *testing.T) {
		again := inline(ns, "net", holding("b"), auto, destroying)
		y.create(t, again)
		y.await(t, again, "its plan waits", heldBack)
		y.delete(t, again)
		y.await(t, again, "its deletion waits", failedWith(infrav1.ReasonStateTakenOver))
		if _, news, code := y.run(t, "state", "adopt", "net", "-n", ns, "--yes"); code != 0 {
			t.Fatalf("adopt: %s", news)
		}
		y.awaitGone(t, again)
		if now := y.addresses(t, again); now != "" {
			t.Errorf("the state holds %s", now)
		}
	})
}

func TestATakenOverStateCanBeDropped(t *testing.T) {
	y, ns := common(t)
	obj, made := y.succeeded(t, ns, "net", auto)
	y.await(t, obj, "its plan waits", heldBack)
	out, news, code := y.run(t, "state", "drop", "net", "-n", ns, "--yes")
	if code != 0 || !strings.Contains(out, "terraform_data.a") {
		t.Fatalf("drop: %s%s", out, news)
	}
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.TakenOver == nil })
	if now := y.addresses(t, obj); !strings.HasPrefix(now, "terraform_data.b ") || strings.Contains(now, ",") {
		t.Errorf("the state holds %s, want b alone", now)
	}
	_, news, code = y.run(t, "state", "history", "net", "-n", ns, "-o", "json")
	if code != 0 {
		t.Errorf("history: %s", news)
	}
	t.Log(made)
}

// succeededWithoutState creates the stack net after one of that name and its state Secret were
// deleted.
func (y *yuba) succeededWithoutState(t *testing.T, ns string) *infrav1.Terraform {
	t.Helper()
	former := inline(ns, "net", holding("a"), auto)
	y.create(t, former)
	y.await(t, former, "it is ready", ready)
	y.delete(t, former)
	y.awaitGone(t, former)
	y.delete(t, secretOf(ns, stateSecret(former), nil))
	obj := inline(ns, "net", holding("b"), auto)
	y.create(t, obj)
	return obj
}

func TestAStateThatVanishedCanBeDropped(t *testing.T) {
	y, ns := common(t)
	obj := y.succeededWithoutState(t, ns)
	y.await(t, obj, "it misses its state", func(o *infrav1.Terraform) bool {
		return settled(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, "yuba state drop")
	})
	if _, news, code := y.run(t, "state", "drop", "net", "-n", ns, "--yes"); code != 0 {
		t.Fatalf("drop: %s", news)
	}
	y.await(t, obj, "it is applied", ready)
}

// Restoring the state of a deleted stack does not approve the destruction of its resources.
func TestARollbackToWhatADeletedStackLeftIsHeld(t *testing.T) {
	y, ns := common(t)
	obj := y.succeededWithoutState(t, ns)
	y.await(t, obj, "it misses its state", func(o *infrav1.Terraform) bool { return settled(o) && o.Status.LastRun != nil })
	version := strings.Fields(y.must(t, "state", "history", "net", "-n", ns, "-o", "name"))[0]
	y.must(t, "state", "rollback", "net", version, "-n", ns, "--yes")
	y.await(t, obj, "its plan waits", heldBack)
	if now := y.addresses(t, obj); !strings.HasPrefix(now, "terraform_data.a ") {
		t.Errorf("the state holds %s", now)
	}
}

// must runs a command that must succeed.
func (y *yuba) must(t *testing.T, args ...string) string {
	t.Helper()
	out, news, code := y.run(t, args...)
	if code != 0 {
		t.Fatalf("yuba %s: %d\n%s%s", strings.Join(args, " "), code, out, news)
	}
	return out
}

func TestAdoptionThatIsDeclaredAsksNobody(t *testing.T) {
	y, ns := common(t)
	obj, _ := y.succeeded(t, ns, "net", auto, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationAdoptState: infrav1.AdoptAnyState}
	})
	y.await(t, obj, "it is applied", ready)
	if now := y.addresses(t, obj); strings.Contains(now, "terraform_data.a") {
		t.Errorf("the state holds %s", now)
	}
}

// Two stacks can share a state on purpose, by the same suffix.
func TestAStateThatIsSharedWithALiveStackIsNotTakenOver(t *testing.T) {
	y, ns := common(t)
	sharing := func(o *infrav1.Terraform) { o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "shared"} }
	one := inline(ns, "one", holding("a"), auto, sharing)
	y.create(t, one)
	y.await(t, one, "it is ready", ready)
	two := inline(ns, "two", holding("b"), auto, sharing)
	y.create(t, two)
	y.await(t, two, "it is applied", ready)
	if now := y.addresses(t, two); strings.Contains(now, "terraform_data.a") {
		t.Errorf("the state holds %s", now)
	}
	y.delete(t, one)
	y.awaitGone(t, one)
	change(t, y, two, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = holding("c") })
	y.await(t, two, "it continues alone", func(o *infrav1.Terraform) bool {
		return ready(o) && strings.HasPrefix(y.addresses(t, o), "terraform_data.c")
	})
}

// A plan with targets and without changes proves nothing about the rest of the state.
func TestTargetsDoNotSettleWhoseAStateIs(t *testing.T) {
	y, ns := common(t)
	former := inline(ns, "net", holding("a")+holding("b"), auto)
	y.create(t, former)
	y.await(t, former, "it is ready", ready)
	y.delete(t, former)
	y.awaitGone(t, former)
	obj := inline(ns, "net", holding("b"), auto, func(o *infrav1.Terraform) { o.Spec.Targets = []string{"terraform_data.b"} })
	y.create(t, obj)
	seen := y.await(t, obj, "there is nothing to do for its target", ready)
	if seen.Status.TakenOver == nil {
		t.Error("the state is said to be its own")
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Targets = nil })
	y.await(t, obj, "its plan waits", heldBack)
	if now := y.addresses(t, obj); !strings.Contains(now, "terraform_data.a") {
		t.Errorf("the state holds %s", now)
	}
}

// A new stack may be created before the watch shows the last writes of the deleted one.
func TestANewcomerRightBehindADeletionDestroysNothing(t *testing.T) {
	y, ns := common(t)
	for i := range 5 {
		name := fmt.Sprint("net-", i)
		former := inline(ns, name, holding("a"), auto)
		y.create(t, former)
		y.awaitSecret(t, ns, stateSecret(former))
		y.delete(t, former)
		obj := inline(ns, name, holding("b"), auto)
		for y.client.Create(t.Context(), obj) != nil {
			obj.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: name}
		}
		y.await(t, obj, "its plan waits", heldBack)
		if now := y.addresses(t, obj); !strings.HasPrefix(now, "terraform_data.a ") {
			t.Errorf("the state holds %s", now)
		}
	}
}

func TestWhatWasDestroyedOfAnEncryptedStateIsNobodys(t *testing.T) {
	y, ns := common(t)
	y.create(t, secretOf(ns, "phrase", map[string]string{"phrase": passphrase, "config": encryption(`"` + passphrase + `"`)}))
	how := encrypted["by the environment"]
	for range 2 {
		obj := inline(ns, "net", holding("a"), auto, destroying, how)
		y.create(t, obj)
		y.await(t, obj, "it is applied without an approval", ready)
		y.delete(t, obj)
		y.awaitGone(t, obj)
	}
}

// In the quickstart and in the connected stacks, "network" means different things.
func TestTheQuickstartFollowedByConnectedStacksDestroysNothing(t *testing.T) {
	y, ns := common(t)
	quickstart, connected := "../../examples/quickstart", "../../examples/connected"
	y.must(t, "kubectl", "-n", ns, "apply", "-k", quickstart)
	y.must(t, "push", quickstart+"/network", "network", "-n", ns)
	network := inline(ns, "network", "")
	y.await(t, network, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRun != "" })
	made := y.addresses(t, network)
	if strings.Count(made, ",") < 2 {
		t.Fatalf("the quickstart made only %s", made)
	}
	y.must(t, "kubectl", "-n", ns, "delete", "-k", quickstart)
	y.must(t, "kubectl", "-n", ns, "apply", "-k", connected)
	y.must(t, "push", connected+"/services", "services", "-n", ns)
	y.await(t, inline(ns, "network", ""), "its plan waits", heldBack)
	if now := y.addresses(t, network); now != made {
		t.Errorf("the state holds %s, want %s", now, made)
	}
}
