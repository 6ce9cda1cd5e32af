// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestATemplateWithMistakesAsksNothingWhileNothingChanges(t *testing.T) {
	w := newWorld(t)
	w.rows(lines(3)...)
	w.registry(func(s *tenantv1.TenantRegistrySpec) { s.Source.SyncInterval = "1s" })
	w.template("web", oneConfigMap+`
deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec: {spec: {replicas: 1}}
`)
	w.eventually("it is checked with the rows", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return len(tpl.Status.Conditions) > 0 && w.registryCondition(tenantv1.ConditionReady).Status == metav1.ConditionTrue
	})
	w.eventually("nothing but rows is asked for", func() bool {
		since := running.requests.mark()
		readings := 0
		w.eventually("the rows are read", func() bool {
			readings = 0
			for _, r := range running.requests.of(w.namespace, since) {
				if strings.HasSuffix(r, "/configmaps/table") {
					readings++
				}
			}
			return readings >= 3
		})
		for _, r := range running.requests.of(w.namespace, since) {
			if strings.HasPrefix(r, http.MethodPatch+" ") {
				return false
			}
		}
		return true
	})
	// Other rows may make the template valid.
	w.template("web", oneConfigMap)
	w.ready("t00-web")
}

func TestATemplateWhoseRegistryCannotBeReadSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.registry(nil) // its table does not exist
	w.template("web", oneConfigMap)
	w.eventually("it says why it has no tenants", func() bool {
		c := w.appliedOf("web")
		return c.Status == metav1.ConditionFalse && c.Reason == tenantv1.ReasonRegistryNotRead && strings.Contains(c.Message, "table")
	})
	w.rows("acme,a,0,pro")
	w.eventually("it says that there are none", func() bool { return w.appliedOf("web").Reason == tenantv1.ReasonNoTenants })
}
