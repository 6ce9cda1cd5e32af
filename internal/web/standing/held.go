// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

const (
	// reasonPruneHeld is the reason of a Kustomization whose pruning waits for a person.
	reasonPruneHeld = "PruneHeld"
	// AnnotationConfirmPrune confirms the held pruning of a Kustomization for a revision.
	AnnotationConfirmPrune = "yuba.dev/confirm-prune"
)

// HeldPrune returns the revision whose pruning is held and that nobody has confirmed, with the condition
// that says so; empty for none.
func HeldPrune(k *kustomizev1.Kustomization) (revision string, c metav1.Condition) {
	ready := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition)
	revision = k.Status.LastAttemptedRevision
	if ready == nil || ready.Reason != reasonPruneHeld || k.Annotations[AnnotationConfirmPrune] == revision {
		return "", c
	}
	return revision, *ready
}

// HeldDeletion returns the deletion of tenants that a registry holds and nobody has confirmed; nil for
// none.
func HeldDeletion(g *tenantv1.TenantRegistry) *tenantv1.HeldDeletion {
	h := g.Status.Held
	if h == nil || h.Confirmed || g.Annotations[tenantv1.AnnotationConfirmDeletion] == h.ID {
		return nil
	}
	return h
}
