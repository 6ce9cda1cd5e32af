// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// origin tells where a stack comes from.
type origin struct {
	// applied is the Kustomization that applied the stack's object.
	applied string
	// source says how the source stands when it is not well.
	source string
}

// originOf looks at what is above a stack, as far as it can be seen: the status of a stack is worth something without it.
func (s *session) originOf(ctx context.Context, t *infrav1.Terraform, now time.Time) origin {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	var from origin
	labels := t.GetLabels()
	if name := labels[labelOwnerName]; name != "" {
		key := types.NamespacedName{Namespace: t.Namespace, Name: name}
		if namespace := labels[labelOwnerNamespace]; namespace != "" {
			key.Namespace = namespace
		}
		from.applied = "Kustomization/" + key.String()
		if owner, err := s.getObject(ctx, kustomizations, key); err == nil {
			from.applied += appliedFrom(owner)
		}
	}
	if key := tenantOf(t); from.applied == "" && key.Name != "" {
		from.applied = "Tenant/" + key.String()
	}
	ref := t.Spec.SourceRef
	if _, inline := t.InlineProgram(); ref == nil || inline {
		return from
	}
	k, ok := kindNamed(ref.Kind)
	if !ok {
		return from
	}
	key := types.NamespacedName{Namespace: t.Namespace, Name: ref.Name}
	if ref.Namespace != "" {
		key.Namespace = ref.Namespace
	}
	if source, err := s.getObject(ctx, k, key); err == nil {
		from.source = notWell(source, now)
	}
	return from
}

// appliedFrom is the revision of a Kustomization, and whether it is well.
func appliedFrom(owner *object) string {
	text := ""
	if owner.revision() != "" {
		text = ", " + shortRevision(owner.revision())
	}
	switch {
	case owner.Spec.Suspend:
		text += ", suspended"
	case owner.ready().Status == metav1.ConditionFalse:
		text += ", not ready: " + firstLine(owner.message(), 120)
	}
	return text
}

// notWell says what is wrong with a source; empty when nothing is.
func notWell(source *object, now time.Time) string {
	c := source.ready()
	switch {
	case source.Spec.Suspend:
		return "suspended: nothing new is fetched until it is resumed"
	case c.Status != metav1.ConditionFalse:
		return ""
	}
	since := ""
	if !c.LastTransitionTime.IsZero() {
		since = " since " + age(now, c.LastTransitionTime.Time)
	}
	kept := ""
	if source.revision() != "" {
		kept = "\nThe last good one is used: " + shortRevision(source.revision())
	}
	return fmt.Sprintf("not ready%s: %s%s", since, c.Message, kept)
}
