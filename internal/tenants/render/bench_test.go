// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"
)

// usual is a typical template: a stack, a Secret, a ConfigMap and a workload.
const usual = `
configMaps:
- id: config
  nameTemplate: "{{ .uid }}-config"
  dependIds: [infra]
  spec: {data: {url: "{{ .hostOrUrl }}", tier: "{{ .tier }}", region: "{{ .zones | splitList \",\" | first }}"}}
secrets:
- id: token
  nameTemplate: "{{ .uid }}-token"
  spec: {stringData: {token: "{{ .uid | sha1sum | trunc 16 }}"}}
services:
- id: service
  nameTemplate: "{{ .uid }}-web"
  spec: {spec: {selector: {app: "{{ .uid }}"}, ports: [{port: 80, targetPort: 8080}]}}
deployments:
- id: app
  nameTemplate: "{{ .uid }}-web"
  labelsTemplate: {tenant: "{{ .uid }}"}
  spec: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: "{{ int .replicas }}", selector: {matchLabels: {app: "{{ .uid }}"}}, template: {metadata: {labels: {app: "{{ .uid }}"}}, spec: {containers: [{name: web, image: "shop:1", envFrom: [{secretRef: {name: "{{ .uid }}-outputs"}}]}]}}}}
manifests:
- id: infra
  nameTemplate: "{{ .uid }}-infra"
  spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {interval: 5m, values: {hcl: "variable \"tenant\" {}\noutput \"name\" { value = var.tenant }\n# {{ .uid }}\n"}, vars: [{name: tenant, value: "{{ .uid }}"}], writeOutputsToSecret: {name: "{{ .uid }}-outputs"}}}
`

// BenchmarkTenant is the cost of a row at each reading.
func BenchmarkTenant(b *testing.B) {
	template, r := templateOf(b, usual), acme()
	for b.Loop() {
		if _, err := Tenant(template, r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkObjects is the cost of a new or changed Tenant with five objects.
func BenchmarkObjects(b *testing.B) {
	tenant := tenantOf(b, templateOf(b, usual), acme(), nil)
	for b.Loop() {
		if objects, errs := Objects(tenant); len(errs) > 0 || len(objects) != 5 {
			b.Fatal(objects, errs)
		}
	}
}
