// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// holder names the platform that has the DNS name of one that does not; empty if there is none, or if the user may not list
// the platforms of other namespaces: the condition does not name those.
func holder(ctx context.Context, s *session.Session, p *yubav1.Platform) string {
	if conditions.Of(p, yubav1.ConditionDomainHeld).Status != metav1.ConditionFalse {
		return ""
	}
	list, _, err := s.ListObjects(ctx, session.Platforms, metav1.NamespaceAll)
	if err != nil {
		return ""
	}
	var all []yubav1.Platform
	for _, o := range list {
		var one yubav1.Platform
		if o.As(&one) == nil {
			all = append(all, one)
		}
	}
	return holderAmong(p, all)
}

func holderAmong(p *yubav1.Platform, all []yubav1.Platform) string {
	for i := range all {
		o := &all[i]
		held := conditions.Of(o, yubav1.ConditionDomainHeld)
		if o.UID != p.UID && o.Spec.Domain.FQDN == p.Spec.Domain.FQDN && held.Status == metav1.ConditionTrue {
			return fmt.Sprintf("%s/%s has the DNS name since %s", o.Namespace, o.Name, held.LastTransitionTime.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
