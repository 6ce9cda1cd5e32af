// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// inTheMiddle starts a Yuba and stops an apply in its middle.
func inTheMiddle(t *testing.T) (y *yuba, obj *infrav1.Terraform, open string) {
	t.Helper()
	y = alone(t)
	ns := y.namespace(t)
	obj = inline(ns, "gated", gated, auto, outputsTo("out"))
	y.create(t, obj)
	reached, open := y.gate(obj)
	awaitFile(t, reached)
	return y, obj, open
}

func (y *yuba) restart(t *testing.T) {
	t.Helper()
	if err := y.start(); err != nil {
		t.Fatal(err)
	}
}

// whole checks that a gated apply has completed: the state is complete, the outputs are written,
// and the lock is released.
func whole(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	if n := y.resources(t, obj); n != 3 {
		t.Errorf("%d resources are in the state, want 3", n)
	}
	if got := string(y.secret(t, obj.Namespace, "out")["last"]); got != "last" {
		t.Errorf("the output is %q", got)
	}
	unlocked(t, y, obj)
}

func unlocked(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	var lease coordinationv1.Lease
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: obj.Namespace, Name: "lock-" + stateSecret(obj)}, &lease); err != nil {
		t.Fatal(err)
	}
	if h := lease.Spec.HolderIdentity; h != nil && *h != "" {
		t.Errorf("the lock is held by %s", *h)
	}
}

func TestServerKilledDuringAnApplyFindsItDone(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	runner := y.runnerPID(t)
	y.kill()
	touch(t, open)
	y.restart(t)
	applied := y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
	if applied.Status.LastRun.ID != applied.Status.LastAppliedRun || applied.Status.LastRun.Status != "succeeded" {
		t.Errorf("the last run is %+v", applied.Status.LastRun)
	}
	if now := y.runnerPID(t); now != runner {
		t.Errorf("runner %d took the place of %d, which was alive", now, runner)
	}
}

func TestServerKilledDuringAnApplyThatGoesOnLonger(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	y.kill()
	y.restart(t)
	seen := y.await(t, obj, "the run is still active", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun != nil })
	touch(t, open)
	applied := y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
	if applied.Status.LastAppliedRun != seen.Status.CurrentRun.ID {
		t.Errorf("run %s applied it, want %s", applied.Status.LastAppliedRun, seen.Status.CurrentRun.ID)
	}
}

func TestRunnerKilledDuringAnApply(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	if err := syscall.Kill(y.runnerPID(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	touch(t, open)
	y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
}

func TestServerAndRunnerKilledDuringAnApply(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	runner := y.runnerPID(t)
	y.kill()
	if err := syscall.Kill(runner, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	touch(t, open)
	y.restart(t)
	y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
}

// When everything dies, as in a power cut, the run is interrupted, and Yuba makes a fresh plan
// before it applies anything.
func TestEverythingKilledDuringAnApply(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	var stack infrav1.Terraform
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), &stack); err != nil {
		t.Fatal(err)
	}
	interrupted := stack.Status.CurrentRun.ID
	y.kill()
	for _, pid := range y.processes("") {
		syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
	}
	// The provisioner's shell does not name our directories, so cleanup cannot find it; the open gate
	// ends it.
	touch(t, open)
	reached, _ := y.gate(obj)
	if err := os.Remove(reached); err != nil {
		t.Fatal(err)
	}
	y.restart(t)
	awaitFile(t, reached) // in the new run's home, which is a new directory
	touch(t, open)
	applied := y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
	if applied.Status.LastAppliedRun == interrupted {
		t.Error("the interrupted run is said to have applied it")
	}
	runs, err := y.content(t).Runs(t.Context(), obj.Namespace, obj.Name, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Items {
		if r.Spec.ID == interrupted && r.Result.Outcome != run.OutcomeInterrupted {
			t.Errorf("run %s is %s, want interrupted", interrupted, r.Result.Outcome)
		}
	}
}

func TestStoppedServerLetsTheApplyFinish(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	runner := y.runnerPID(t)
	if err := y.terminate(); err != nil {
		t.Errorf("yuba up ended with %v", err)
	}
	if err := syscall.Kill(runner, 0); err != nil {
		t.Fatal("the busy runner is gone")
	}
	touch(t, open)
	y.restart(t)
	y.await(t, obj, "it is ready", ready)
	whole(t, y, obj)
}

func TestStoppedServerTakesItsIdleRunnerAlong(t *testing.T) {
	y := alone(t)
	ns := y.namespace(t)
	obj := inline(ns, "hello", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	runner := y.runnerPID(t)
	if err := y.terminate(); err != nil {
		t.Errorf("yuba up ended with %v", err)
	}
	awaitExit(t, runner)
}

func TestKilledServerStartsAgainAtAnyMoment(t *testing.T) {
	y := alone(t)
	ns := y.namespace(t)
	obj := inline(ns, "hello", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	// Kills at any point of the run.
	for range 3 {
		y.kill()
		y.restart(t)
	}
	y.await(t, obj, "it is ready", ready)
	unlocked(t, y, obj)
	if strings.Contains(y.logText(), "panic") {
		t.Error(y.logTail())
	}
}

// An interrupted apply may have changed an object. The next plan has no changes, and tofu then
// writes no state: it keeps the old version of the object until the next apply.
func TestAnObjectThatIsAsItShouldBeIsNotAppliedAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "done", providerHCL+objectHCL("done", "before"), access, auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	writes := c.Count("PUT", "done")
	c.Put("done", "after")
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = providerHCL + objectHCL("done", "after") })
	y.await(t, obj, "the change is reconciled", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.ObservedGeneration == o.Generation && o.Status.CurrentRun == nil
	})
	if n := c.Count("PUT", "done"); n != writes {
		t.Errorf("the object was written %d times, %d before", n, writes)
	}
	if text := string(y.state(t, obj)); !strings.Contains(text, `"before"`) || strings.Contains(text, `"after"`) {
		t.Errorf("the state has not the former content:\n%s", text)
	}
	// A later apply writes the complete state.
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = providerHCL + objectHCL("done", "after") + objectHCL("more", "more")
	})
	y.await(t, obj, "more is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.ObservedGeneration == o.Generation && o.Status.CurrentRun == nil
	})
	if text := string(y.state(t, obj)); !strings.Contains(text, `"after"`) || strings.Contains(text, `"before"`) {
		t.Errorf("the state has not the present content:\n%s", text)
	}
}
