// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/test/cloud"
)

// chain is a program with three objects of a cloud, created one after the other.
var chain = providerHCL + objectHCL("first", "1") +
	objectHCL("second", "2", "  depends_on = [yubatest_object.first]") +
	objectHCL("last", "3", "  depends_on = [yubatest_object.second]") +
	"output \"last\" { value = yubatest_object.last.name }\n"

// puts counts how often the objects of the chain were written.
func puts(c *cloud.Cloud) map[string]int {
	counts := map[string]int{}
	for _, name := range []string{"first", "second", "last"} {
		counts[name] = c.Count(http.MethodPut, name)
	}
	return counts
}

// An apply continues when the server dies: it creates each object once and loses none.
func TestApplyGoesOnWithoutTheServer(t *testing.T) {
	for name, dies := range map[string]func(t *testing.T, y *yuba){
		"the server is killed": func(_ *testing.T, y *yuba) { y.kill() },
		"the server and its runner are killed": func(t *testing.T, y *yuba) {
			runner := y.runnerPID(t)
			y.kill()
			if err := syscall.Kill(runner, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := alone(t)
			ns := y.namespace(t)
			c, access := cloudy(t, y, ns)
			gate := c.Hold(http.MethodPut, "second")
			obj := inline(ns, "chained", chain, access, auto, outputsTo("out"))
			y.create(t, obj)
			awaitReached(t, y, gate)
			dies(t, y)
			gate.Release()
			awaitCount(t, c, http.MethodPut, "last", 1)
			y.restart(t)
			y.await(t, obj, "it is ready", ready)
			whole(t, y, obj)
			if diff := cmp.Diff(map[string]int{"first": 1, "second": 1, "last": 1}, puts(c)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailedApplyKeepsWhatItMadeAndTheNextOneFinishes(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	c.Fail(http.MethodPut, "second", http.StatusInsufficientStorage, "the cloud is full")
	obj := inline(ns, "failing", chain, access, outputsTo("out"))
	y.create(t, obj)
	first := y.await(t, obj, "its plan waits", waiting).Status.Plan.Pending
	approve(t, y, obj)
	failed := y.await(t, obj, "the apply fails", failedWith(infrav1.ReasonApplyFailed))
	m := condition(failed, infrav1.ConditionReady).Message
	if !containsAll(m, "the cloud is full", "main.tf line", "yubatest_object") || strings.Contains(m, "may exist") {
		t.Errorf("the message does not tell:\n%s", m)
	}
	if p := failed.Status.Plan; p.Pending != "" || p.LastApplied != "" {
		t.Errorf("the plan is not spent: %+v", p)
	}
	if a := condition(failed, infrav1.ConditionApply); a.Status != metav1.ConditionFalse || a.Reason != infrav1.ReasonApplyConditionFailed {
		t.Errorf("Apply is %s %s", a.Status, a.Reason)
	}
	if n := y.resources(t, obj); n != 1 {
		t.Errorf("%d resources are in the state, want the one that was made", n)
	}
	unlocked(t, y, obj)
	c.Fail(http.MethodPut, "second", 0, "")

	replanned := y.await(t, obj, "another plan waits", waiting)
	if p := replanned.Status.Plan; p.Pending == first || p.Summary != "+2 ~0 -0" {
		t.Errorf("plan %s makes %s", p.Pending, p.Summary)
	}
	// The person who reviews the plan learns what happened to the last one.
	says := condition(replanned, infrav1.ConditionReady).Message
	if s := replanned.Status; s.Summary != "Failed; pending +2 ~0 -0" || s.LastFailedApply == nil || s.LastFailedApply.ID != failed.Status.LastRun.ID ||
		!strings.HasPrefix(says, `Plan generated: set approvePlan: "`+s.Plan.Pending+`" to approve this plan.`) || !strings.HasSuffix(says, " The last apply failed.") {
		t.Errorf("the failed apply is forgotten: %q, %+v, Ready says %q", s.Summary, s.LastFailedApply, says)
	}
	approve(t, y, obj)
	if done := y.await(t, obj, "it is ready", ready); done.Status.LastFailedApply != nil || done.Status.Summary != "Applied" {
		t.Errorf("the failed apply is still told: %q, %+v", done.Status.Summary, done.Status.LastFailedApply)
	}
	whole(t, y, obj)
	if diff := cmp.Diff(map[string]int{"first": 1, "second": 2, "last": 1}, puts(c)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestFailedApplyOfAnAutomaticStackIsTriedAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	c.Fail(http.MethodPut, "second", http.StatusBadGateway, "try again later")
	obj := inline(ns, "retried", chain, access, auto, outputsTo("out"))
	y.create(t, obj)
	y.await(t, obj, "the apply fails", failedWith(infrav1.ReasonApplyFailed))
	c.Fail(http.MethodPut, "second", 0, "")
	seen := y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
	if got := puts(c); got["first"] != 1 || got["last"] != 1 || seen.Status.ReconciliationFailures != 0 {
		t.Errorf("writes: %v, failures: %d", got, seen.Status.ReconciliationFailures)
	}
}

func TestStackWithABackendOfItsOwn(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	address := c.StateAddress("own")
	obj := inline(ns, "own", chain, access, outputsTo("out"), func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "http" {
  address        = "` + address + `"
  lock_address   = "` + address + `"
  unlock_address = "` + address + `"
}`}
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "TF_HTTP_USERNAME", Value: "yuba"}, fromSecret("TF_HTTP_PASSWORD", "cloud", "token"))
	})
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	gate := c.Hold(http.MethodPut, "second")
	approve(t, y, obj)
	awaitReached(t, y, gate)
	if !c.StateLocked("own") {
		t.Error("the apply does not hold the backend's lock")
	}
	gate.Release()
	applied := y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.LastApplied != "" })
	if c.StateLocked("own") {
		t.Error("the lock is still held")
	}
	if !strings.Contains(string(c.State("own")), `"last"`) {
		t.Errorf("the backend has %s", c.State("own"))
	}
	if got := string(y.secret(t, ns, "out")["last"]); got != "last" {
		t.Errorf("the output is %q", got)
	}
	var secret corev1.Secret
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: stateSecret(obj)}, &secret); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("there is a state Secret (%v)", err)
	}
	change(t, y, obj, func(o *infrav1.Terraform) {
		auto(o)
		destroying(o)
		o.Spec.Inline["main.tf"] = strings.Replace(chain, `content = "3"`, `content = "4"`, 1)
	})
	y.await(t, obj, "its change is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRun != applied.Status.LastAppliedRun
	})
	has(t, c, "last", "4")
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if left := c.Names(""); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// Plain tofu applies between plan and approval, so the approved plan is no longer valid.
func TestApprovedPlanOfAStateThatMovedIsPlannedAnew(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "moved", greeting, variable("name", "approved"))
	y.create(t, obj)
	planned := y.await(t, obj, "its plan waits", waiting)
	plain := newPlainTofu(t, y, ns, "moved", greeting)
	plain.run("apply", "-auto-approve", "-input=false")
	id := plain.greetingID()
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = planned.Status.Plan.Pending })
	seen := y.await(t, obj, "another plan waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.Plan.Pending != planned.Status.Plan.Pending
	})
	if p := seen.Status.Plan; p.LastApplied != "" || p.Summary != "+0 ~1 -0" {
		t.Errorf("plan %q was applied, %s makes %s", p.LastApplied, p.Pending, p.Summary)
	}
	if got := plain.run("output", "-raw", "greeting"); got != "hello world" {
		t.Errorf("the output is %q", got)
	}
	approve(t, y, obj)
	y.await(t, obj, "it is ready", ready)
	if got := firstID(t, y.state(t, obj)); got != id {
		t.Errorf("the resource is %s, was %s", got, id)
	}
}

// The machine fails while the cloud creates an object, and Yuba reports that the object may exist.
// Earlier changes may be lost as well: tofu writes its state every 20 seconds, and at its end.
func TestObjectsThatACrashLeavesBehindAreNamed(t *testing.T) {
	t.Parallel()
	y := alone(t)
	ns := y.namespace(t)
	c, access := cloudy(t, y, ns)
	gate := c.Hold(http.MethodPut, "second")
	obj := inline(ns, "crashed", chain, access, outputsTo("out"))
	y.create(t, obj)
	first := y.await(t, obj, "its plan waits", waiting).Status.Plan.Pending
	approve(t, y, obj)
	awaitReached(t, y, gate)
	y.kill()
	for _, pid := range y.processes("") {
		syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
	}
	gate.Release()
	awaitCount(t, c, http.MethodPut, "second", 1)
	y.restart(t)
	interrupted := y.await(t, obj, "it says that the run was interrupted", failedWith(infrav1.ReasonRunInterrupted))
	m := condition(interrupted, infrav1.ConditionUnproven).Message
	if !containsAll(m, "yubatest_object.first", "may exist", "yubatest_object.second") {
		t.Errorf("the message does not name what was made and what may have been: %s", m)
	}
	unlocked(t, y, obj)
	replanned := y.await(t, obj, "a fresh plan waits", waiting)
	if p := replanned.Status.Plan; p.Pending == first || p.Summary != "+3 ~0 -0" {
		t.Errorf("plan %s makes %s", p.Pending, p.Summary)
	}
	if n := c.Count(http.MethodPut, "last"); n != 0 {
		t.Error("something was applied without approval")
	}
	approve(t, y, obj)
	y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
}
