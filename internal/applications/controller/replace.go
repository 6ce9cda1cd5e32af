// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/namespaces"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// writeFixed writes an object. It replaces one that can never become what it should be: Secrets and ConfigMaps
// may be immutable, a Secret keeps its type and a binding its role. These hold nothing that the manifest does
// not say. whole: nothing about the object is anybody else's, and the API would accept the manifest for a new one.
func (a *Applications) writeFixed(ctx context.Context, cluster *engine.Cluster, write engine.Write, whole bool) (*unstructured.Unstructured, error) {
	written, err := a.engine.Write(ctx, cluster, write)
	if !apierrors.IsInvalid(err) || !replaceable(write.Manifest) || !whole && !a.acceptable(ctx, write.Manifest) {
		return written, err
	}
	live, problem := a.direct.Metadata(ctx, engine.Ref{ID: owned.IDOf(write.Manifest), Version: write.Manifest.GroupVersionKind().Version})
	switch {
	case client.IgnoreNotFound(problem) != nil:
		return nil, fmt.Errorf("read %s, which cannot be changed: %w", write.Manifest.GetName(), problem)
	case problem == nil && !write.Ownership.Standing(live, write.Manifest).Mine && write.Ownership.Rival(live, write.Manifest, false).Name != "":
		return nil, err
	case problem == nil:
		if problem := a.clear(ctx, live, whole); problem != nil {
			return nil, fmt.Errorf("delete %s, which cannot be changed: %w", write.Manifest.GetName(), problem)
		}
	}
	write.Live, write.Left = nil, false
	return a.engine.Write(ctx, cluster, write)
}

func replaceable(u *unstructured.Unstructured) bool {
	switch u.GroupVersionKind() {
	case namespaces.SecretKind, namespaces.ConfigMapKind, namespaces.RoleBindingKind:
		return true
	}
	return false
}

// acceptable reports whether the API would accept the manifest for a new object. What it would not accept must
// not delete the old one.
func (a *Applications) acceptable(ctx context.Context, manifest *unstructured.Unstructured) bool {
	const most = 200
	probe := manifest.DeepCopy()
	name := probe.GetName()
	probe.SetName(name[:min(len(name), most)] + "-dry-run")
	return a.direct.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(appv1.FieldManager)) == nil
}

// clear deletes an object that is replaced. Somebody's finalizer does not keep one that is wholly Yuba's.
func (a *Applications) clear(ctx context.Context, live *metav1.PartialObjectMetadata, whole bool) error {
	if whole && len(live.Finalizers) > 0 {
		patch := map[string]any{"metadata": map[string]any{"uid": live.UID, "finalizers": nil}}
		if err := engine.MergePatch(ctx, a.direct.Client, appv1.FieldManager, live, patch); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(a.direct.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID}))
}
