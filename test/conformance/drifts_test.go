// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// To cause drift, the cases change external data that the program copies into a resource: a plan
// then has changes, although program and inputs are the same.

// drifted waits until drift was found after the time.
func drifted(after *metav1.Time) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		at := o.Status.LastDriftDetectedAt
		return settled(o) && at != nil && (after == nil || at.After(after.Time))
	}
}

// looked waits until the program has read the variable this many more times.
func (w *world) looked(v *variable, times int) {
	w.Helper()
	want := v.read() + times
	eventually(w.T, "the program reads the data again", func() error { return v.readAtLeast(want) }, w.log)
}

var drifts = []behaviour{
	// Upstream: drift of an automatic stack is repaired, and the status contains the time.
	{"000140_auto_repairs_drift", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		s := w.await("hello", "it is applied", applied(firstPlan))
		same(w, "drift", true, s.Status.LastDriftDetectedAt == nil && s.Status.LastAppliedByDriftDetectionAt == nil)
		v.set("after")
		s = w.await("hello", "drift is repaired", both(ready, drifted(nil)))
		w.awaitSecret("out", map[string]string{"copy": "after"})
		if s.Status.LastAppliedByDriftDetectionAt == nil || !s.Status.Plan.IsDriftDetectionPlan {
			w.Errorf("the status does not say that drift was repaired:\n%s", statusOf(s))
		}
	}},
	// Upstream: drift of a manual stack is reported, with the plan in the message, but nothing can
	// be approved (#1619). Fixed: the plan waits for approval like any other.
	{"000150_manual_reports_drift", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{interval: 1s, vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("hello", "its plan waits", pending(firstPlan))
		w.edit("hello", "approvePlan: %s", firstPlan)
		w.await("hello", "it is applied", applied(firstPlan))
		v.set("after")
		s := w.await("hello", "drift is reported", both(failed("DriftDetected"), drifted(nil)))
		mentions(w, "Ready", conditionOf(s, "Ready").Message, "Drift detected.\n", "terraform_data.copy", "after", s.Status.Plan.Pending)
		same(w, "pending", firstPlan+"-2", s.Status.Plan.Pending)
		w.looked(v, 2)
		same(w, "last applied", firstPlan, w.get("hello").Status.Plan.LastApplied)
		w.edit("hello", "approvePlan: %s-2", firstPlan)
		w.await("hello", "drift is repaired", applied(firstPlan+"-2"))
	}},
	// Upstream: 000200 is a unit test; 000201: without drift detection, a stack stays applied.
	{"000201_drift_detection_disabled", func(w *world) {
		v, seen := w.thing("thing", "before"), w.thing("seen", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1s, disableDriftDetection: true, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.stack("twin", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: twin}}", seen.url)
		w.await("hello", "it is applied", applied(firstPlan))
		w.await("twin", "it is applied", applied(firstPlan))
		reads := v.read()
		v.set("after")
		seen.set("after")
		// A second stack that differs only in that field is repaired and checked again, so the
		// first one had enough time.
		w.awaitSecret("twin", map[string]string{"copy": "after"})
		w.looked(seen, 3)
		same(w, "reads", reads, v.read())
		same(w, "outputs", map[string]string{"copy": "before"}, w.secret("out"))
		same(w, "Ready", "True TerraformOutputsWritten: Outputs written: "+first, told(w.get("hello"), "Ready"))
	}},
	// Upstream: "disable" only detects drift and applies nothing, even with force.
	{"000230_drift_detection_only_mode", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "{approvePlan: disable, force: true}")
		v.set("after")
		w.await("hello", "drift is reported", both(failed("DriftDetected"), drifted(nil)))
		w.looked(v, 2)
		same(w, "outputs", map[string]string{"copy": "before"}, w.secret("out"))
		v.set("before")
		w.await("hello", "the drift is gone", ready)
	}},
	// Upstream: a requested reconciliation detects drift like any other, and reports it.
	{"000140_a_request_finds_drift", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		v.set("after")
		s := w.await("hello", "the request is served", handled(w.request("hello")))
		w.awaitSecret("out", map[string]string{"copy": "after"})
		if s.Status.LastDriftDetectedAt == nil || s.Status.LastAppliedByDriftDetectionAt == nil {
			w.Errorf("the status does not say that drift was found and repaired:\n%s", statusOf(s))
		}
		w.awaitEvent("hello", "DriftDetected: Drift was repaired")
	}},
	// Upstream: each time drift is found, the time is written, also with "disable".
	{"000230_a_request_finds_drift", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		w.edit("hello", "approvePlan: disable")
		v.set("after")
		s := w.await("hello", "drift is reported", both(handled(w.request("hello")), both(failed("DriftDetected"), drifted(nil))))
		// Times have a resolution of a second. Another request finds the same drift in a later
		// second.
		before := s.Status.LastDriftDetectedAt
		eventually(w.T, "another request writes its time", func() error {
			if s := w.await("hello", "the request is served", handled(w.request("hello"))); !s.Status.LastDriftDetectedAt.After(before.Time) {
				return fmt.Errorf("it is %s, as before", before)
			}
			return nil
		}, w.log)
	}},
	// Upstream: each drift check without drift writes NoDrift and the time. Here the first one
	// after an apply does; later the times are written once an hour, to avoid needless writes.
	{"no_drift_leaves_a_trace", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}], writeOutputsToSecret: {name: out}}", v.url)
		s := w.await("hello", "a drift check without drift is reported", tells("Ready", "True NoDrift: No drift: "+first))
		if s.Status.LastDriftCheckAt.Before(s.Status.LastPlanAt) || !s.Status.LastSuccessfulReconcileAt.Equal(s.Status.LastDriftCheckAt) {
			w.Errorf("the status does not say when that was:\n%s", statusOf(s))
		}
		w.looked(v, 4)
		same(w, "version of the object", s.ResourceVersion, w.get("hello").ResourceVersion)
	}},
	// Upstream, e2e: another check of a stack without drift changes nothing.
	{"no_drift_changes_nothing", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("hello", "{approvePlan: auto, interval: 1s, vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("hello", "it is applied", applied(firstPlan))
		id := w.state("tfstate-default-hello").id("terraform_data.copy")
		w.looked(v, 4)
		s := w.await("hello", "it is ready", ready)
		same(w, "last applied, pending", []string{firstPlan, ""}, []string{s.Status.Plan.LastApplied, s.Status.Plan.Pending})
		same(w, "drift", true, s.Status.LastDriftDetectedAt == nil)
		same(w, "id of the resource", id, w.state("tfstate-default-hello").id("terraform_data.copy"))
	}},
}
