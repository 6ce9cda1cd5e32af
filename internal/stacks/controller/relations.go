// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// requests is the controller's workqueue.
type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// relations reconciles a stack when one that it depends on, or that depends on it, has changed.
func (f relatives) relations() handler.EventHandler {
	both := func(ctx context.Context, o client.Object, q requests) {
		t := o.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
		f.enqueueDependants(ctx, t, q)
		enqueue(q, dependenciesOf(t)...)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { both(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { both(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			was, is := e.ObjectOld.(*infrav1.Terraform), e.ObjectNew.(*infrav1.Terraform) //nolint:forcetypeassert // of the kind that is watched
			if tellsDependants(was, is) {
				f.enqueueDependants(ctx, is, q)
			}
			if before, now := dependenciesOf(was), dependenciesOf(is); !slices.Equal(before, now) {
				enqueue(q, before...)
				enqueue(q, now...)
			}
		},
	}
}

func (f relatives) enqueueDependants(ctx context.Context, t *infrav1.Terraform, q requests) {
	key := client.ObjectKeyFromObject(t)
	dependants, err := f.dependants(ctx, key)
	if err != nil {
		f.log.Error("finding the stacks that depend on another", "stack", key.String(), "error", err)
	}
	for i := range dependants {
		enqueue(q, client.ObjectKeyFromObject(&dependants[i]))
	}
}

func enqueue(q requests, names ...types.NamespacedName) {
	for _, name := range names {
		q.Add(reconcile.Request{NamespacedName: name})
	}
}

// tellsDependants reports whether a change matters to dependants: the stack became ready, or is
// ready with another revision or other outputs, is being deleted, or joined or left a cycle.
func tellsDependants(was, is *infrav1.Terraform) bool {
	if was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() {
		return true
	}
	before, now := conditions.Of(was, infrav1.ConditionReady), conditions.Of(is, infrav1.ConditionReady)
	circle := infrav1.ReasonDependencyCycle
	if before.Reason != now.Reason && (before.Reason == circle || now.Reason == circle) {
		return true
	}
	return now.Status == "True" && appearance(was) != appearance(is)
}

// appearanceOf is what others see of a stack.
type appearanceOf struct {
	generation, observed                              int64
	ready, planned, applied, outputs, written, source string
}

func appearance(t *infrav1.Terraform) appearanceOf {
	s := &t.Status
	return appearanceOf{generation: t.Generation, observed: s.ObservedGeneration, ready: string(conditions.Of(t, infrav1.ConditionReady).Status),
		planned: s.LastPlannedRevision, applied: s.LastAppliedRevision, outputs: s.OutputsDigest,
		written: conditions.Of(t, infrav1.ConditionOutput).Reason, source: sourceOf(t)}
}
