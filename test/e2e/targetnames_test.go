// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// appAtTarget is a template with a Secret in the API and a Deployment in a cluster that needs it.
const appAtTarget = `
kubeConfig: {secretRef: {name: CLUSTER}}
secrets:
- id: settings
  nameTemplate: "{{ .uid }}-settings"
  spec: {stringData: {host: "{{ .uid }}.example.com"}}
deployments:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec:
    spec:
      replicas: 1
      selector: {matchLabels: {app: "{{ .uid }}"}}
      template:
        metadata: {labels: {app: "{{ .uid }}"}}
        spec:
          containers:
          - name: app
            image: example.com/app:1
            env: [{name: HOST, valueFrom: {secretKeyRef: {name: "{{ .uid }}-settings", key: host}}}]
`

// A kubeconfig that moves to another Secret, for instance with new credentials, leads to the same
// cluster: nothing there may be deleted and created again.
func TestAClusterMayGetAnotherName(t *testing.T) {
	target := startTargetCluster(t)
	f := newFleet(t, 0, "configMaps: []")
	f.must(target.client.Create(t.Context(), namespaceObject(f.namespace)))
	for _, name := range []string{"before", "after"} {
		f.must(f.y.client.Create(t.Context(), secretOf(f.namespace, name, map[string]string{"value": string(target.kubeconfig)})))
	}
	f.template(strings.Replace(appAtTarget, "CLUSTER", "before", 1))
	f.rows(1)
	f.eventually("the tenant is ready", func() bool { list := f.tenants(); return len(list) == 1 && isReady(&list[0]) })
	uids := func() [2]types.UID {
		t.Helper()
		app, secret := newDeployment(), &corev1.Secret{}
		f.must(target.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "t000-app"}, app))
		f.must(target.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "t000-settings"}, secret))
		return [2]types.UID{app.GetUID(), secret.UID}
	}
	before := uids()
	f.template(strings.Replace(appAtTarget, "CLUSTER", "after", 1))
	f.eventually("all is on record under the new name", func() bool {
		tenant := f.tenants()[0]
		return isReady(&tenant) && len(tenant.Status.Inventory) == 3 && !slices.ContainsFunc(tenant.Status.Inventory, func(e tenantv1.AppliedResource) bool {
			return e.KubeConfig == "before"
		})
	})
	if after := uids(); after != before {
		t.Errorf("what was there was deleted and made again: %v, and before %v", after, before)
	}
	// The unused Secret can be deleted. The objects in the cluster are deleted with the row.
	f.must(f.y.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: f.named("before")}))
	f.rows(0)
	f.eventually("the tenant is gone", func() bool { return len(f.tenants()) == 0 })
	for name, o := range map[string]client.Object{"t000-app": newDeployment(), "t000-settings": &corev1.Secret{}} {
		if err := target.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, o); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}
