// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenanttest

import "fmt"

// Registry is a TenantRegistry for the columns of Table.
func Registry(name, source string) string {
	return fmt.Sprintf(`
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantRegistry
metadata: {name: %s}
spec:
  source:
%s
  valueMappings: {uid: id, hostOrUrl: url, activate: active}
  extraValueMappings: {plan: plan}
`, name, source)
}

// credentials give the template's stacks access to a cloud, as in the guide: a Secret in varsFrom.
func credentials(endpoint, token string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: cloud-credentials}
stringData:
  %[1]sENDPOINT: %[2]q
  %[1]sTOKEN: %[3]q
`, EnvPrefix, endpoint, token)
}

// template has a database, an application that reads its address, and settings that depend on the
// application. The order is wrong on purpose, and only the Secret makes the application wait.
const template = `
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: web}
spec:
  registryId: customers
  configMaps:
  - id: settings
    nameTemplate: "{{ .uid }}-settings"
    dependIds: [app]
    spec:
      apiVersion: v1
      kind: ConfigMap
      data: {plan: "{{ .plan }}", host: "{{ .host }}"}
  manifests:
  - id: app
    nameTemplate: "{{ .uid }}-app"
    timeoutSeconds: 600
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        interval: 1h
        vars:
        - {name: tenant, value: "{{ .uid }}"}
        varsFrom:
        - {kind: Secret, name: "{{ .uid }}-database"}
        - {kind: Secret, name: cloud-credentials}
        inline:
          main.tf: |
            terraform {
              required_providers {
                yubatest = { source = "yuba-dev/yubatest" }
              }
            }
            provider "yubatest" {}
            variable "tenant" {
              type = string
            }
            variable "address" {
              type = string
            }
            resource "yubatest_object" "app" {
              name    = "${var.tenant}-app"
              content = "talks to ${var.address}"
            }
  - id: database
    nameTemplate: "{{ .uid }}-database"
    timeoutSeconds: 600
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        interval: 1h
        vars:
        - {name: tenant, value: "{{ .uid }}"}
        - {name: plan, value: "{{ .plan }}"}
        varsFrom:
        - {kind: Secret, name: cloud-credentials}
        writeOutputsToSecret: {name: "{{ .uid }}-database"}
        inline:
          main.tf: |
            terraform {
              required_providers {
                yubatest = { source = "yuba-dev/yubatest" }
              }
            }
            provider "yubatest" {}
            variable "tenant" {
              type = string
            }
            variable "plan" {
              type = string
            }
            resource "yubatest_object" "database" {
              name    = "${var.tenant}-database"
              content = "plan ${var.plan}"
            }
            output "address" {
              value = "db://${yubatest_object.database.name}"
            }
`
