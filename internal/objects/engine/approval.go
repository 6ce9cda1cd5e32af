// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/approval"
)

// keepApproval keeps the apply of a stack from revoking the approval of a plan.
func (s *stage) keepApproval(ctx context.Context, it *item) error {
	if !approval.Concerns(it.manifest) {
		return nil
	}
	var live *unstructured.Unstructured
	if !it.absent {
		var err error
		live, err = s.cluster.read(ctx, it.manifest)
		switch {
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			return nil // the owner may be allowed to apply it nevertheless, with the manifest unchanged
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

// shareApproval makes Yuba a second owner of the approval, because Flux's library takes over
// kubectl's fields and then drops them. If the object changes meanwhile, the next attempt retries.
func (s *stage) shareApproval(ctx context.Context, live *unstructured.Unstructured) error {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"approvePlan": approval.Of(live)}}}
	u.SetGroupVersionKind(live.GroupVersionKind())
	u.SetNamespace(live.GetNamespace())
	u.SetName(live.GetName())
	u.SetResourceVersion(live.GetResourceVersion())
	return s.cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(approval.Manager))
}
