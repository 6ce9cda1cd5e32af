// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// driftEvery sets the drift detection interval.
func driftEvery(interval time.Duration) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) { o.Spec.DriftDetectionInterval = &metav1.Duration{Duration: interval} }
}

func manual(o *infrav1.Terraform) { o.Spec.ApprovePlan = "" }

// events lists a stack's events as "reason: note".
func (y *yuba) events(t *testing.T, obj *infrav1.Terraform) []string {
	t.Helper()
	var list eventsv1.EventList
	if err := y.client.List(t.Context(), &list, client.InNamespace(obj.Namespace)); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		if e.Regarding.Name == obj.Name {
			lines = append(lines, e.Reason+": "+e.Note)
		}
	}
	return lines
}

// awaitEvent waits for an event with all the words: events are sent after the status is written.
func (y *yuba) awaitEvent(t *testing.T, obj *infrav1.Terraform, words ...string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		lines := y.events(t, obj)
		for _, line := range lines {
			if containsAll(line, words...) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no event has %q:\n%s", words, strings.Join(lines, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func containsAll(s string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

func TestDriftIsRepairedWithinAnInterval(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "repaired", providerHCL+objectHCL("changed", "as planned")+objectHCL("removed", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, obj)
	first := y.await(t, obj, "it is ready", ready)
	if first.Status.LastDriftDetectedAt != nil {
		t.Error("drift was found where there is none")
	}
	c.Put("changed", "tampered with")
	c.Remove("removed")
	seen := y.await(t, obj, "it is repaired", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedByDriftDetectionAt != nil
	})
	has(t, c, "changed", "as planned")
	has(t, c, "removed", "as planned")
	if s := seen.Status; s.LastDriftDetectedAt == nil || s.LastDriftDetectedAt.Before(first.Status.LastPlanAt) || !s.Plan.IsDriftDetectionPlan || s.Plan.Summary != "+1 ~1 -0" {
		t.Errorf("the status does not tell of the drift: %+v", s)
	}
	y.awaitEvent(t, obj, infrav1.ReasonDriftDetected, "yubatest_object.changed", "yubatest_object.removed")
	y.awaitEvent(t, obj, infrav1.ReasonApplied)
}

func TestDriftOfAManualStackIsAnApprovablePlan(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "reviewed", providerHCL+objectHCL("reviewed", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	change(t, y, obj, manual)
	c.Put("reviewed", "tampered with")
	seen := y.await(t, obj, "the drift is reported", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonDriftDetected)(o) && waiting(o)
	})
	m := condition(seen, infrav1.ConditionReady).Message
	if !containsAll(m, "Drift detected.", "tampered with", "as planned", seen.Status.Plan.Pending) {
		t.Errorf("the message does not tell:\n%s", m)
	}
	if s := seen.Status; s.LastDriftDetectedAt == nil || !s.Plan.IsDriftDetectionPlan || s.LastAppliedByDriftDetectionAt != nil {
		t.Errorf("the status does not tell of the drift: %+v", s)
	}
	has(t, c, "reviewed", "tampered with")
	// Further checks find the same drift and report nothing new.
	awaitCount(t, c, "GET", "reviewed", c.Count("GET", "reviewed")+3)
	var later infrav1.Terraform
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), &later); err != nil {
		t.Fatal(err)
	}
	if later.Status.Plan.Pending != seen.Status.Plan.Pending {
		t.Errorf("the plan became %s, was %s", later.Status.Plan.Pending, seen.Status.Plan.Pending)
	}
	approve(t, y, obj)
	y.await(t, obj, "it is repaired", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == seen.Status.Plan.Pending
	})
	has(t, c, "reviewed", "as planned")
	y.awaitEvent(t, obj, infrav1.ReasonDriftDetected, "tampered with")
}

// When drift disappears, its plan is removed.
func TestDriftThatIsUndoneIsForgotten(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "undone", providerHCL+objectHCL("undone", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	change(t, y, obj, manual)
	c.Remove("undone")
	y.await(t, obj, "the drift is reported", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonDriftDetected)(o) && waiting(o)
	})
	c.Put("undone", "as planned")
	seen := y.await(t, obj, "it is ready", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.Pending == "" })
	if r := condition(seen, infrav1.ConditionReady).Reason; r != infrav1.ReasonNoDrift {
		t.Errorf("Ready says %s", r)
	}
}

func TestModeDisableReportsDriftAndOffersNothing(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "watched", providerHCL+objectHCL("watched", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan, o.Spec.Force = infrav1.ApprovePlanDisable, true })
	c.Put("watched", "tampered with")
	seen := y.await(t, obj, "the drift is reported", failedWith(infrav1.ReasonDriftDetected))
	for _, kind := range []string{infrav1.ConditionReady, infrav1.ConditionPlan} {
		if m := condition(seen, kind).Message; strings.Contains(m, "approve") {
			t.Errorf("%s offers the plan for approval: %s", kind, m)
		}
	}
	awaitCount(t, c, "GET", "watched", c.Count("GET", "watched")+2)
	has(t, c, "watched", "tampered with")
	c.Put("watched", "as planned")
	y.await(t, obj, "it is ready", ready)
}

// The two stacks differ in one field. The repair of the second shows that there was enough time to
// check the first.
func TestDriftThatIsNotLookedForIsNotFound(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	blind := inline(ns, "blind", providerHCL+objectHCL("blind", "as planned"), access, auto, driftEvery(time.Second),
		func(o *infrav1.Terraform) { o.Spec.DisableDriftDetection = true })
	seeing := inline(ns, "seeing", providerHCL+objectHCL("seeing", "as planned"), access, auto, driftEvery(time.Second))
	y.create(t, blind, seeing)
	before := y.await(t, blind, "it is ready", ready)
	y.await(t, seeing, "it is ready", ready)
	gets := c.Count("GET", "blind")
	c.Put("blind", "tampered with")
	c.Put("seeing", "tampered with")
	awaitCount(t, c, "GET", "seeing", c.Count("GET", "seeing")+3)
	has(t, c, "seeing", "as planned")
	has(t, c, "blind", "tampered with")
	if n := c.Count("GET", "blind"); n != gets {
		t.Errorf("the stack was looked at %d times", n-gets)
	}
	if diff := cmp.Diff(before.ResourceVersion, y.versions(t, ns)["Terraform blind"]); diff != "" {
		t.Errorf("its status was written: %s", diff)
	}
}

// versions are the resource versions of everything in a namespace that a drift check could write.
func (y *yuba) versions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for kind, list := range map[string]client.ObjectList{"Terraform": &infrav1.TerraformList{}, "Secret": &corev1.SecretList{},
		"Lease": &coordinationv1.LeaseList{}, "Event": &eventsv1.EventList{}, "ConfigMap": &corev1.ConfigMapList{}} {
		if err := y.client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		items, err := apimeta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			o := item.(client.Object)
			versions[kind+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	return versions
}

func TestPassesWithoutDriftWriteNothing(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	withOutputs := inline(ns, "quiet", providerHCL+objectHCL("quiet", "as planned")+"output \"revision\" { value = yubatest_object.quiet.revision }\n",
		access, auto, driftEvery(300*time.Millisecond), outputsTo("out"))
	reviewed := inline(ns, "reviewed", providerHCL+objectHCL("reviewed", "as planned"), access, auto, driftEvery(300*time.Millisecond))
	y.create(t, withOutputs, reviewed)
	y.await(t, withOutputs, "it is ready", ready)
	y.await(t, reviewed, "it is ready", ready)
	change(t, y, reviewed, manual)
	y.await(t, reviewed, "it is ready", ready)
	// One more check, so that earlier events have been written.
	for _, name := range []string{"quiet", "reviewed"} {
		awaitCount(t, c, "GET", name, c.Count("GET", name)+2)
	}
	before := y.versions(t, ns)
	for _, name := range []string{"quiet", "reviewed"} {
		awaitCount(t, c, "GET", name, c.Count("GET", name)+4)
	}
	if diff := cmp.Diff(before, y.versions(t, ns)); diff != "" {
		t.Errorf("passes that found nothing wrote (-before +after):\n%s", diff)
	}
}
