// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestATenantStaysForItsTimeOfGrace(t *testing.T) {
	w := newWorld(t)
	w.rows("acme,a,1,pro", "beta,b,1,pro")
	w.registry(func(s *tenantv1.TenantRegistrySpec) {
		s.Protection = &tenantv1.Protection{GracePeriod: &metav1.Duration{Duration: time.Hour}}
	})
	w.template("web", oneConfigMap)
	w.ready("acme-web")
	w.ready("beta-web")
	marked := func() bool { return w.tenant("acme-web").Annotations[tenantv1.AnnotationInactiveSince] != "" }
	w.rows("acme,a,0,pro", "beta,b,1,pro")
	w.eventually("it is written down since when the row is inactive", marked)
	inactiveSince := func() time.Time {
		at, err := time.Parse(time.RFC3339, w.tenant("acme-web").Annotations[tenantv1.AnnotationInactiveSince])
		w.must(err)
		return at
	}
	due := inactiveSince().Add(time.Hour).UTC().Format(time.RFC3339)
	w.eventually("the registry says when it goes", func() bool {
		return strings.HasSuffix(w.registryCondition(tenantv1.ConditionReady).Message, "; 1 tenant has no active row: acme-web will be deleted at "+due)
	})
	w.quiet()
	if cm, _ := w.configMap("acme-settings"); w.names() != "acme-web beta-web" || w.tenant("acme-web").DeletionTimestamp != nil || cm.Data["plan"] != "pro" {
		t.Fatalf("there are %s", w.names())
	}
	// Back in time: nothing changes.
	w.rows("acme,a,1,gold", "beta,b,1,pro")
	w.eventually("the row counts again", func() bool {
		cm, _ := w.configMap("acme-settings")
		return !marked() && cm.Data["plan"] == "gold" && !strings.Contains(w.registryCondition(tenantv1.ConditionReady).Message, "no active row")
	})
	// The row is gone, and the next reading is an hour away: the grace period ends without it.
	w.rows("beta,b,1,pro")
	w.eventually("it is written down since when the row is gone", marked)
	since := inactiveSince()
	const grace = 4 * time.Second
	update(w, &tenantv1.TenantRegistry{}, "customers", func(reg *tenantv1.TenantRegistry) {
		reg.Spec.Protection.GracePeriod = &metav1.Duration{Duration: grace}
	})
	w.eventually("the tenant is gone", func() bool { return w.names() == "beta-web" })
	if stayed := time.Since(since); stayed < grace {
		t.Errorf("it went after %s", stayed)
	}
}
