// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/inventory"
)

// terminationPause is the interval of checks for terminating objects.
const terminationPause = 2 * time.Second

// removesObjects reports whether a deletion removes the objects: not if suspended, as in Flux, nor if
// another home works on it.
func removesObjects(obj *kustomizev1.Kustomization) bool {
	if obj.Spec.Suspend || moving.Held(obj) != "" {
		return false
	}
	switch obj.GetDeletionPolicy() {
	case kustomizev1.DeletionPolicyMirrorPrune:
		return obj.Spec.Prune
	case kustomizev1.DeletionPolicyDelete, kustomizev1.DeletionPolicyWaitForTermination:
		return true
	}
	return false
}

// finalize deletes objects by the deletion policy, and then removes the finalizer. It does not wait
// for terminating objects; it is called again.
func (r *Reconciler) finalize(ctx context.Context, p *pass) (ctrl.Result, error) {
	if !slices.Contains(p.obj.Finalizers, kustomizev1.KustomizationFinalizer) {
		r.forget(p.owner)
		return ctrl.Result{}, nil
	}
	if refs := inventoryOf(p.obj); removesObjects(p.obj) && len(refs) > 0 {
		wait, err := r.removeAll(ctx, p, refs)
		if errors.As(err, &busyError{}) {
			return ctrl.Result{}, nil
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		if wait {
			return ctrl.Result{RequeueAfter: terminationPause}, nil
		}
	}
	finalizers := slices.DeleteFunc(slices.Clone(p.obj.Finalizers), func(f string) bool { return f == kustomizev1.KustomizationFinalizer })
	if err := r.setFinalizers(ctx, p, finalizers); err != nil && !apierrors.IsNotFound(err) {
		return reconciling.Again(err)
	}
	r.forget(p.owner)
	return ctrl.Result{}, nil
}

// removeAll deletes the objects, and reports whether to wait for their termination.
func (r *Reconciler) removeAll(ctx context.Context, p *pass, refs []engine.Ref) (wait bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.obj.GetTimeout())
	defer cancel()
	cluster, done, err := r.cluster(ctx, p)
	var missing *missingError
	if errors.As(err, &missing) {
		// As in Flux: nothing can be deleted without access, and the Kustomization must not stay.
		r.event(p, corev1.EventTypeWarning, fmt.Sprintf("unable to prune objects: %s: %s", missing, strings.Join(inventory.Names(refs), ", ")))
		return false, nil
	}
	if errors.As(err, &busyError{}) {
		return false, err
	}
	if err != nil {
		return false, r.tellKept(ctx, p, err)
	}
	defer done()
	removal, err := r.engine.Delete(ctx, cluster, p.owner, refs)
	r.tellLines(p, deletedLines(removal))
	if err != nil {
		return false, r.tellKept(ctx, p, err)
	}
	if p.obj.GetDeletionPolicy() != kustomizev1.DeletionPolicyWaitForTermination {
		return false, nil
	}
	return r.awaitTermination(ctx, p, cluster, append(removal.Deleted, removal.Going...))
}

// tellKept explains why objects cannot be deleted, and how to delete only the Kustomization.
func (r *Reconciler) tellKept(ctx context.Context, p *pass, cause error) error {
	setFailed(p.obj, meta.PruneFailedReason, fmt.Sprintf("pruning for deleted resource failed: %s\nTo delete the Kustomization and keep its objects:\n"+
		"    yuba kubectl patch kustomization %s -n %s --type=merge -p '{\"spec\":{\"deletionPolicy\":\"Orphan\"}}'", cause, p.obj.Name, p.obj.Namespace))
	if err := r.patchStatus(ctx, p); err != nil {
		return err
	}
	r.announceChange(p)
	return fmt.Errorf("prune the objects of Kustomization %s: %w", p.owner, cause)
}

// awaitTermination reports whether objects are still terminating.
func (r *Reconciler) awaitTermination(ctx context.Context, p *pass, cluster *engine.Cluster, refs []engine.Ref) (bool, error) {
	left, err := r.engine.Remaining(ctx, cluster, p.owner, refs)
	if err != nil || len(left) == 0 {
		return false, err
	}
	message := "waiting for the termination of " + strings.Join(firstOf(inventory.Names(left), ""), ", ")
	if r.Now().After(p.obj.DeletionTimestamp.Add(p.obj.GetTimeout())) {
		r.event(p, corev1.EventTypeWarning, "failed to wait for resources termination: "+message)
		return false, nil
	}
	setCondition(p.obj, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	return true, r.patchStatus(ctx, p)
}
