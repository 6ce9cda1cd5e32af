// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// letGo takes Yuba's finalizers off a deleted stack. Its state, its versions and the records of its runs stay: they are
// what a mistake is repaired with. The outputs Secret has the object as its owner and goes with it.
func (r *Reconciler) letGo(ctx context.Context, p *pass) error {
	before := p.obj.DeepCopy()
	p.obj.Finalizers = slices.DeleteFunc(p.obj.Finalizers, func(f string) bool {
		return f == infrav1.Finalizer || strings.HasPrefix(f, infrav1.DependencyFinalizerPrefix)
	})
	if len(p.obj.Finalizers) == len(before.Finalizers) {
		return nil
	}
	if err := r.Client.Patch(ctx, p.obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("let %s go: %w", p.stack, err))
	}
	r.Runs.Forget(p.stack)
	return nil
}
