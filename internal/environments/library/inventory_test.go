// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// declare writes a module with these variables, those after a question mark optional, and outputs.
func declare(variables, outputs string) string {
	var b strings.Builder
	optional := ""
	for _, name := range strings.Fields(variables) {
		if name == "?" {
			optional = "  default = null\n"
			continue
		}
		fmt.Fprintf(&b, "variable %q {\n%s}\n", name, optional)
	}
	for _, name := range strings.Fields(outputs) {
		fmt.Fprintf(&b, "output %q { value = 1 }\n", name)
	}
	return b.String()
}

// requires is a block with the constraint on a provider.
func requires(name, constraint string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = { version = %q }\n  }\n}\n", name, constraint)
}

// TestAnInventoryWithMismatches: a library of 38 modules and 8 environments had these mismatches, which
// nobody saw because validation needs an init of each environment. The fixture has its modules'
// interfaces, as far as they matter.
func TestAnInventoryWithMismatches(t *testing.T) {
	l := read(t, map[string]string{
		"modules/cloudsql/main.tf": requires("google", "~> 5.0") + declare("project_id region instance_name ? database tier", "provides requirements connection_uri connection_name"),
		"modules/pubsub/main.tf":   requires("google", "~> 5.0") + declare("project_id ? topic_prefix", "provides requirements bus events_topic_name coordinator_env"),
		"modules/domain/main.tf":   requires("google", "~> 5.0") + declare("domain project_id region images", "component_url discovery_entries discovery_json"),
		"modules/fargate-domain/main.tf": requires("aws", ">= 5.0") + declare("domain cluster_arn vpc_id subnet_ids aggregate storage bus coordinator_images execution_role_arn log_group ? sagas projectors",
			"aggregate_url saga_urls projector_urls domain security_group_id"),
		"modules/fargate-base/main.tf": requires("aws", "~> 5.0") + declare("environment ? region", "cluster_arn cluster_name vpc_id private_subnet_ids lb_dns_name execution_role_arn"),
		"modules/k8s-pm/main.tf":       requires("helm", ">= 2.0") + declare("name namespace ? image", "pm_url name"),
		"modules/k8s-domain/main.tf":   requires("helm", ">= 2.0") + declare("domain namespace ? storage", "aggregate_url saga_urls"),
		"modules/stack/main.tf": declare("name compute ? domains process_managers", "topology_mermaid entry_points") + `
module "k8s_pm" {
  source    = "../k8s-pm"
  for_each  = var.process_managers
  name      = each.key
  namespace = var.name
}
locals {
  pm_urls = { for name, pm in var.process_managers : name => try(module.k8s_pm[name].url, null) }
}`,
		"environments/gcp/main.tf": `
module "database" {
  source        = "../../modules/cloudsql"
  project_id    = "p"
  region        = "r"
  instance_name = "i"
  database_name = "angzarr"
}
module "bus" {
  source     = "../../modules/pubsub"
  project_id = "p"
}
locals { env = module.database.coordinator_env }`,
		"environments/aws-staging/main.tf": `
module "base" {
  source      = "../../modules/fargate-base"
  environment = "staging"
}
module "order" {
  source              = "../../modules/fargate-domain"
  domain              = "order"
  cluster_arn         = module.base.cluster_arn
  vpc_id              = module.base.vpc_id
  subnet_ids          = module.base.private_subnet_ids
  execution_role_arn  = module.base.execution_role_arn
  aggregate           = {}
  images              = {}
  database_uri        = ""
  messaging_uri       = ""
  service_namespace   = ""
  log_level           = ""
  task_role           = ""
}
output "entries" { value = [module.order.discovery_entries, module.order.service_name, module.base.ecr_registry_url] }`,
		"environments/examples/k8s/main.tf": `
module "stack" {
  source       = "../../../modules/stack"
  name         = "k8s"
  compute      = "kubernetes"
  release_name = "x"
}`,
		"environments/k8s-example/main.tf": requires("helm", ">= 2.0") + `
provider "helm" {
  kubernetes { config_path = "~/.kube/config" }
}
module "stack" {
  source  = "../../modules/stack"
  name    = "example"
  compute = "kubernetes"
}`,
	})
	var got []string
	for _, f := range l.Check() {
		got = append(got, fmt.Sprintf("%s %s %s", f.Module, f.Code, f.Subject))
	}
	want := []string{
		"environments/aws-staging missing-argument module.order.bus",
		"environments/aws-staging missing-argument module.order.coordinator_images",
		"environments/aws-staging missing-argument module.order.log_group",
		"environments/aws-staging missing-argument module.order.storage",
		"environments/aws-staging unknown-argument module.order.images",
		"environments/aws-staging unknown-argument module.order.database_uri",
		"environments/aws-staging unknown-argument module.order.messaging_uri",
		"environments/aws-staging unknown-argument module.order.service_namespace",
		"environments/aws-staging unknown-argument module.order.log_level",
		"environments/aws-staging unknown-argument module.order.task_role",
		"environments/aws-staging unknown-output module.base.ecr_registry_url",
		"environments/aws-staging unknown-output module.order.discovery_entries",
		"environments/aws-staging unknown-output module.order.service_name",
		"environments/examples/k8s unknown-argument module.stack.release_name",
		"environments/gcp unknown-argument module.database.database_name",
		"environments/gcp unknown-output module.database.coordinator_env",
		"environments/k8s-example removed-block provider.helm",
		"modules/stack unknown-output module.k8s_pm.url",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if roots := l.Roots(); !slices.Contains(roots, "environments/gcp") || slices.Contains(roots, "modules/k8s-pm") {
		t.Errorf("roots: %q", roots)
	}
}
