// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/yuba-dev/yuba/internal/objects/approval"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keepApproval keeps the apply of a stack from taking back the approval of a plan.
func (s *stage) keepApproval(ctx context.Context, it *item) error {
	if !approval.Concerns(it.manifest) {
		return nil
	}
	var live *unstructured.Unstructured
	if !it.absent {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(it.manifest.GroupVersionKind())
		err := s.cluster.Client.Get(ctx, client.ObjectKeyFromObject(it.manifest), live)
		switch {
		case apierrors.IsNotFound(err):
			live = nil
		case apierrors.IsForbidden(err):
			return nil // applying it may be allowed all the same, and the manifest counts as it is
		case err != nil:
			return fmt.Errorf("%s query failed: %w", Name(it.id), err)
		}
	}
	if live != nil && approval.Of(live) != "" && approval.OwnedBy(live, kubectl) {
		if err := s.shareApproval(ctx, live); err != nil {
			return fmt.Errorf("%s: keep the approval of plan %s: %w", Name(it.id), approval.Of(live), err)
		}
	}
	it.manifest = approval.Omit(it.manifest, live)
	return nil
}

// shareApproval makes Yuba an owner of the approval beside kubectl, whose fields Flux's library takes over and then drops. The
// next attempt tries again when the object changes meanwhile.
func (s *stage) shareApproval(ctx context.Context, live *unstructured.Unstructured) error {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"approvePlan": approval.Of(live)}}}
	u.SetGroupVersionKind(live.GroupVersionKind())
	u.SetNamespace(live.GetNamespace())
	u.SetName(live.GetName())
	u.SetResourceVersion(live.GetResourceVersion())
	return s.cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(approval.Manager))
}
