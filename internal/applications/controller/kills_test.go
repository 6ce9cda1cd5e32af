// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// runs plays the controller of stacks: each stack becomes ready soon after it was written. It counts, in
// the order of the API's events, how many of those that were ready are on their way.
type runs struct {
	*world
	mu     sync.Mutex
	stacks map[string]infrav1.Terraform
	// writes are the generations of each stack since the count began, way those that are on their way now,
	// most the greatest number of them.
	writes map[string]int64
	way    map[string]bool
	most   int
}

func play(w *world) *runs {
	w.Helper()
	r := &runs{world: w, stacks: map[string]infrav1.Terraform{}, writes: map[string]int64{}, way: map[string]bool{}}
	stacks := w.objects.Resource(infrav1.GroupVersion.WithResource("terraforms")).Namespace(w.namespace)
	ctx, cancel := context.WithCancel(context.Background())
	w.Cleanup(cancel)
	watch, err := stacks.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	unready := make(chan infrav1.Terraform, 10_000)
	go func() {
		for e := range watch.ResultChan() {
			var t infrav1.Terraform
			if u, ok := e.Object.(*unstructured.Unstructured); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t) == nil && r.note(t) {
				unready <- t
			}
		}
	}()
	for range 4 {
		go func() {
			for {
				select {
				case t := <-unready:
					patch := fmt.Sprintf(`{"status":{"observedGeneration":%d,"lastAppliedRevision":"inline","outputsSecret":"none","conditions":[{"type":"Ready","status":"True","reason":"Test","message":"Applied","lastTransitionTime":"2026-11-27T00:00:00Z","observedGeneration":%d}]}}`, t.Generation, t.Generation)
					if _, err := stacks.Patch(ctx, t.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil && ctx.Err() == nil {
						w.Error(err)
					}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return r
}

// note notes an event, and reports whether the stack has to become ready.
func (r *runs) note(t infrav1.Terraform) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.stacks[t.Name]
	r.stacks[t.Name] = t
	if t.Status.ObservedGeneration == t.Generation {
		delete(r.way, t.Name)
		return false
	}
	if known && before.Generation != t.Generation {
		r.writes[t.Name] += t.Generation - before.Generation
		r.way[t.Name] = true
		r.most = max(r.most, len(r.way))
	}
	return !known || before.Generation != t.Generation
}

// written returns how many stacks were written since the count began.
func (r *runs) written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.writes)
}

// count begins to count anew.
func (r *runs) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.writes)
	clear(r.way)
	r.most = 0
}

// TestKillsDuringAChange: 500 instances get a change while the server ends again and again. Each object is
// written exactly once, and no more of them than allowed are on their way at any moment.
func TestKillsDuringAChange(t *testing.T) {
	const instances, limit, kills = 500, 5, 4
	w := stillWorld(t)
	r := play(w)
	stop := start(t)
	d := w.define("Grain", bucketYAML)
	w.change(d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Rollout = &appv1.Rollout{MaxUnavailable: new(intstr.FromString("1%"))}
		d.Spec.Backend.Terraform.Outputs = nil
	})
	for i := range instances {
		w.make("Grain", fmt.Sprintf("g%03d", i), map[string]any{"bucketName": "a"})
	}
	w.rollout(d, 1, appv1.RolloutComplete, instances)
	for i := range instances {
		w.await("Grain", fmt.Sprintf("g%03d", i), appv1.PhaseReady)
	}
	r.count()
	w.change(d, program("second"))
	for kill := range kills {
		at := (kill*instances + rand.IntN(instances)) / kills //nolint:gosec // any number will do
		w.until(fmt.Sprintf("%d are written", at), func() (bool, string) { return r.written() >= at, fmt.Sprint(r.written()) })
		stop()
		t.Logf("stopped at %d of %d", r.written(), instances)
		stop = start(t)
	}
	w.rollout(d, 2, appv1.RolloutComplete, instances)
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, n := range r.writes {
		if n != 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}
	if len(r.writes) != instances || r.most > limit || r.most < 2 {
		t.Errorf("%d of %d were written, at most %d at a time, and %d may", len(r.writes), instances, r.most, limit)
	}
	t.Logf("at most %d at a time", r.most)
}
