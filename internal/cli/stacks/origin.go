// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// origin is where a stack comes from.
type origin struct {
	// applied is the Kustomization that applied the stack's object.
	applied string
	// source is the problem of the source; empty if there is none.
	source string
}

// originOf reads the origin of a stack. Errors do not matter: the status is useful without it.
func originOf(ctx context.Context, s *session.Session, t *infrav1.Terraform, now time.Time) origin {
	ctx, cancel := context.WithTimeout(ctx, session.ServerPatience)
	defer cancel()
	var from origin
	if key := session.OwnerOf(t); key.Name != "" {
		from.applied = "Kustomization/" + key.String()
		if owner, err := s.GetObject(ctx, session.Kustomizations, key); err == nil {
			from.applied += appliedFrom(owner)
		}
	}
	if key := session.TenantOf(t); from.applied == "" && key.Name != "" {
		from.applied = "Tenant/" + key.String()
	}
	ref := t.Spec.SourceRef
	if _, inline := t.InlineProgram(); ref == nil || inline {
		return from
	}
	k, ok := session.KindNamed(ref.Kind)
	if !ok {
		return from
	}
	key := types.NamespacedName{Namespace: t.SourceNamespace(), Name: ref.Name}
	if source, err := s.GetObject(ctx, k, key); err == nil {
		from.source = notWell(source, now)
	}
	return from
}

// appliedFrom is the revision of a Kustomization, and its problem.
func appliedFrom(owner *session.Object) string {
	text := ""
	if owner.Revision() != "" {
		text = ", " + shorten.Revision(owner.Revision())
	}
	switch {
	case owner.Spec.Suspend:
		text += ", suspended"
	case owner.Ready().Status == metav1.ConditionFalse:
		text += ", not ready: " + ui.FirstLine(owner.Message(), 120)
	}
	return text
}

// notWell is the problem of a source; empty if there is none.
func notWell(source *session.Object, now time.Time) string {
	c := source.Ready()
	switch {
	case source.Spec.Suspend:
		return "suspended: Yuba fetches nothing new until it is resumed"
	case c.Status != metav1.ConditionFalse:
		return ""
	}
	since := ""
	if !c.LastTransitionTime.IsZero() {
		since = " since " + ui.Age(now, c.LastTransitionTime.Time)
	}
	kept := ""
	if source.Revision() != "" {
		kept = "\nThe stack uses the last good revision: " + shorten.Revision(source.Revision())
	}
	return fmt.Sprintf("not ready%s: %s%s", since, c.Message, kept)
}
