// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// ChangeOf returns the patch of an object, which fails if somebody else wrote it since it was read.
func ChangeOf(read client.Object) client.Patch {
	return client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
}

// SetFinalizers writes the finalizers of an object during a reconciliation: obj keeps its unwritten
// changes, and before is the object in the API.
func SetFinalizers(ctx context.Context, c client.Client, obj, before client.Object, finalizers []string) error {
	patched := before.DeepCopyObject().(client.Object)
	patched.SetFinalizers(finalizers)
	if err := c.Patch(ctx, patched, ChangeOf(before)); err != nil {
		return fmt.Errorf("set the finalizers of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	for _, o := range []client.Object{obj, before} {
		o.SetFinalizers(slices.Clone(patched.GetFinalizers()))
		o.SetResourceVersion(patched.GetResourceVersion())
	}
	return nil
}

// Release removes a finalizer of another controller that Yuba does not need.
func Release(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	before := obj.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(obj, finalizer) {
		return nil
	}
	if err := client.IgnoreNotFound(c.Patch(ctx, obj, ChangeOf(before))); err != nil {
		return fmt.Errorf("remove the finalizer of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
