// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

const alwaysFails = `
resource "terraform_data" "it" {
  input = "x"
  provisioner "local-exec" { command = "exit 3" }
}
`

func retries(n int64) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) { o.Spec.Remediation = &infrav1.Remediation{Retries: n} }
}

// gaveUp: this many attempts failed after the given run.
func gaveUp(failures int64, since string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		stalled := condition(o, infrav1.ConditionStalled)
		return failedWith(infrav1.ReasonApplyFailed)(o) && o.Status.LastRun.ID > since && o.Status.ReconciliationFailures == failures &&
			stalled.Status == metav1.ConditionTrue && stalled.Reason == infrav1.ReasonRetryLimitReached &&
			stalled.Message == "Resource reached maximum number of retries."
	}
}

func TestAttemptsAreUsedUpAndBegunAnew(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "hopeless", alwaysFails, auto, retries(0))
	y.create(t, obj)
	seen := y.await(t, obj, "no retries leave one attempt", gaveUp(1, ""))
	change(t, y, obj, retries(2))
	seen = y.await(t, obj, "another generation is tried anew: as often as it says", gaveUp(2, seen.Status.LastRun.ID))
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"}
	})
	seen = y.await(t, obj, "a requested attempt fails, too", gaveUp(2, seen.Status.LastRun.ID))
	if seen.Status.LastHandledReconcileAt != "now" {
		t.Errorf("the request handled last is %q", seen.Status.LastHandledReconcileAt)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = vpcHCL })
	mended := y.await(t, obj, "a changed program is, too", ready)
	if mended.Status.ReconciliationFailures != 0 || condition(mended, infrav1.ConditionStalled).Type != "" {
		t.Errorf("%d failures are left, Stalled is %+v", mended.Status.ReconciliationFailures, condition(mended, infrav1.ConditionStalled))
	}
}

// held means that a person works on the stack.
func held(o *infrav1.Terraform) bool {
	c := condition(o, infrav1.ConditionReady)
	return settled(o) && c.Status == metav1.ConditionUnknown && c.Reason == infrav1.ReasonBreakTheGlass &&
		containsAll(c.Message, "yuba shell "+o.Name+" -n "+o.Namespace)
}

func TestNothingRunsWhileAPersonWorksByHand(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	for name, hold := range map[string]func(*infrav1.Terraform, bool){
		"field": func(o *infrav1.Terraform, on bool) { o.Spec.BreakTheGlass = on },
		"annotation": func(o *infrav1.Terraform, on bool) {
			o.Annotations = map[string]string{}
			if on {
				o.Annotations[infrav1.AnnotationBreakTheGlass] = "2026-11-21T10:00:00Z"
			}
		},
	} {
		obj := inline(ns, name, vpcHCL, auto, retryingHourly)
		y.create(t, obj)
		before := y.await(t, obj, "it is ready", ready).Status.LastRun.ID
		change(t, y, obj, func(o *infrav1.Terraform) { hold(o, true) })
		y.await(t, obj, "it is held", held)
		change(t, y, obj, variable2("cidr", "10.3.0.0/16"))
		seen := y.await(t, obj, "a change is seen, and held, too", held)
		if seen.Status.LastRun.ID != before {
			t.Errorf("%s: run %s ran", name, seen.Status.LastRun.ID)
		}
		change(t, y, obj, func(o *infrav1.Terraform) { hold(o, false) })
		seen = y.await(t, obj, "it continues", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastRun.ID != before })
		// Yuba makes a fresh plan after manual work, even without any change.
		before = seen.Status.LastRun.ID
		change(t, y, obj, func(o *infrav1.Terraform) { hold(o, true) })
		y.await(t, obj, "it is held", held)
		change(t, y, obj, func(o *infrav1.Terraform) { hold(o, false) })
		y.await(t, obj, "it is planned afresh", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastRun.ID != before })
	}
}

func TestARequestIsAnsweredAlthoughNothingCanRun(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "asked", greeting, varsFrom("ConfigMap", "missing"), auto, retryingHourly, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationReconcile: "first"}
	})
	y.create(t, obj)
	y.await(t, obj, "it names the missing input and acknowledges the request", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonVarsGenerationFailed)(o) && o.Status.LastHandledReconcileAt == "first"
	})
	cm := configMap(ns, "missing", map[string]string{"name": "x"})
	y.create(t, cm)
	before := y.await(t, obj, "it is ready", ready).Status.LastRun.ID
	y.delete(t, cm)
	y.await(t, obj, "it misses it again", failedWith(infrav1.ReasonVarsGenerationFailed))
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationReconcile: "second"}
	})
	y.await(t, obj, "it heard", func(o *infrav1.Terraform) bool { return o.Status.LastHandledReconcileAt == "second" })
	y.create(t, configMap(ns, "missing", map[string]string{"name": "x"}))
	y.await(t, obj, "what was asked for is done", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastRun.ID != before })
}

// Yuba shows a pending plan of tofu-controller and makes it again. It applies nothing before
// somebody approves the new plan, even if the old one was approved.
func TestPendingPlansOfTofuControllerAreMadeAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	suspended := func(o *infrav1.Terraform) { o.Spec.Suspend = true }
	for name, approved := range map[string]bool{"waiting": false, "approved": true} {
		first := inline(ns, "scout-"+name, vpcHCL)
		y.create(t, first)
		revision := y.await(t, first, "its plan waits", waiting).Status.LastPlannedRevision
		id := decide.BasePlanID(revision)
		obj := inline(ns, name, vpcHCL, suspended)
		if approved {
			obj.Spec.ApprovePlan = id
		}
		y.create(t, obj)
		y.await(t, obj, "it is seen", func(o *infrav1.Terraform) bool { return o.Status.ObservedGeneration == o.Generation })
		if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		before := obj.DeepCopy()
		obj.Status.Plan.Pending, obj.Status.LastPlannedRevision, obj.Status.LastAttemptedRevision = id, revision, revision
		if err := y.client.Status().Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
		seen := y.await(t, obj, "a plan of Yuba's waits", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.Plan.RunID != "" })
		want := id
		if approved {
			want += "-2" // this plan was never shown
		}
		if seen.Status.Plan.Pending != want || seen.Status.LastAppliedRevision != "" || seen.Status.LastRun.Operation != "plan" {
			t.Errorf("%s: %s is pending, want %s; applied %q, last run %+v", name, seen.Status.Plan.Pending, want, seen.Status.LastAppliedRevision, seen.Status.LastRun)
		}
		approve(t, y, obj)
		y.await(t, obj, "it is ready", ready)
	}
}

// With replan, each revision replaces the pending plan, even if the new one is the same; its id
// shows that.
func TestReplanMakesAPlanOfEachRevision(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	artifact := y.push(t, ns, "live", map[string]string{"main.tf": vpcHCL})
	obj := pushed(ns, "replanned", "live", func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "replan" })
	y.create(t, obj)
	first := y.await(t, obj, "its plan waits", waiting).Status.Plan.Pending
	y.setRevision(t, artifact, "main@sha1:0123456789abcdef0123456789abcdef01234567")
	seen := y.await(t, obj, "another plan waits", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.Plan.Pending != first })
	if seen.Status.Plan.Pending != "plan-main-0123456789" || seen.Status.LastAppliedRevision != "" {
		t.Errorf("%s is pending, %q applied", seen.Status.Plan.Pending, seen.Status.LastAppliedRevision)
	}
}
