// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// brokenRuns returns only errors.
type brokenRuns struct {
	Runs
	err error
}

func (b *brokenRuns) TakeEnded(run.Stack) (run.Record, bool) { return run.Record{}, false }
func (b *brokenRuns) InHand(run.Stack) (rec run.Record, c, held bool) {
	return run.Record{}, false, false
}

func (b *brokenRuns) LastQuiet(context.Context, run.Stack) (time.Time, error) {
	return time.Time{}, b.err
}

func (b *brokenRuns) Record(context.Context, run.Stack, string) (run.Record, error) {
	return run.Record{}, b.err
}

func TestLongFailingReconciliationsAreReported(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	obj := stackNamed("net", "uid-1")
	obj.Generation, obj.Finalizers = 3, []string{infrav1.Finalizer}
	obj.Status.LastRun = &infrav1.RunReference{ID: "run-1"}
	world := fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj).WithStatusSubresource(obj).
		WithIndex(obj, indexDependencies, func(o client.Object) []string { return nil }).Build()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &Reconciler{Client: world, Reader: world, Stacks: fresh.New(world, world), stacks: world, Now: func() time.Time { return now },
		Log: slog.New(slog.DiscardHandler)}
	r.Runs = &brokenRuns{err: errors.New("the shelf of runs fell over")}
	ready := func() metav1.Condition {
		t.Helper()
		var live infrav1.Terraform
		if err := world.Get(t.Context(), client.ObjectKeyFromObject(obj), &live); err != nil {
			t.Fatal(err)
		}
		return conditions.Of(&live, infrav1.ConditionReady)
	}
	fails := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)}); err == nil {
			t.Fatal("the pass does not fail")
		}
	}
	fails()
	now = now.Add(stuckAfter - 1)
	fails()
	if c := ready(); c.Type != "" {
		t.Fatalf("a short failure is reported: %+v", c)
	}
	now = now.Add(1)
	fails()
	c := ready()
	if c.Status != metav1.ConditionFalse || c.Reason != infrav1.ReasonReconciliationFailed || c.ObservedGeneration != 3 || !strings.Contains(c.Message, "fell over") {
		t.Errorf("Ready is %+v", c)
	}
	if !isOver(c) {
		t.Error("the report stays after the recovery")
	}
}
