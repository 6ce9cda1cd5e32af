// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// stuckAfter is how long passes must fail before the object reports it: longer than an API's
// restart.
const stuckAfter = 10 * time.Second

// stuckBook remembers when the passes over a stack began to fail, by its name.
type stuckBook struct{ since sync.Map }

// note records the end of a pass, and reports whether its failure has lasted.
func (b *stuckBook) note(name types.NamespacedName, err error, now time.Time) bool {
	if err == nil {
		b.since.Delete(name)
		return false
	}
	since, failing := b.since.LoadOrStore(name, now)
	return failing && now.Sub(since.(time.Time)) >= stuckAfter //nolint:forcetypeassert // only times are stored
}

// tellStuck reports failing passes in the conditions, which they cannot write themselves. If the
// API refuses, the next pass tries again.
func (r *Reconciler) tellStuck(ctx context.Context, name types.NamespacedName, cause error) {
	if !r.stuck.note(name, cause, r.Now()) || ctx.Err() != nil {
		return
	}
	var obj infrav1.Terraform
	if r.Reader.Get(ctx, name, &obj) != nil {
		return
	}
	before := obj.DeepCopy()
	obj.Status.ObservedGeneration = obj.Generation
	setReady(&obj, metav1.ConditionFalse, infrav1.ReasonReconciliationFailed, fmt.Sprintf("Reconciliation failed; retrying: %s", cause))
	obj.Status.Summary = summarize(situation{obj: &obj})
	sameTransition(&obj, before)
	if err := r.patchStatus(ctx, &obj, before); err != nil {
		r.Log.Warn("cannot report failing passes in the stack's status", "stack", name.String(), "error", err)
	}
}
