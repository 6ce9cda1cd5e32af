// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/standintest"
)

// firstGitOps is the module gitops as its first users applied it.
const firstGitOps = `locals {
  documents = { for i, d in var.manifests : format("%03d", i) => d }
  first     = { for k, d in local.documents : k => d if contains(["Namespace", "CustomResourceDefinition"], yamldecode(d).kind) }
  rest      = { for k, d in local.documents : k => d if !contains(keys(local.first), k) }
}

resource "kubectl_manifest" "namespace" {
  yaml_body = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = var.namespace, labels = var.labels } })
}

resource "kubectl_manifest" "first" {
  for_each          = local.first
  yaml_body         = each.value
  server_side_apply = true
}

resource "kubectl_manifest" "controller" {
  for_each          = local.rest
  yaml_body         = each.value
  server_side_apply = true
}
`

// noCluster is a kubeconfig for the stand-in of kubectl, which connects nowhere.
const noCluster = "clusters: [{cluster: {server: 'https://192.0.2.1:6443', certificate-authority-data: ''}}]\nusers: [{user: {token: t}}]\n"

// kubectlShell runs tofu with a stand-in for the provider kubectl.
func kubectlShell(t *testing.T) shell {
	t.Helper()
	mirror := filepath.Join(t.TempDir(), "mirror")
	if err := standintest.BuildAs(t, mirror, []standintest.Standin{{Namespace: "gavinbunney", Name: "kubectl", Version: "1.19.0"}}); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Abs("testdata/providers.json")
	if err != nil {
		t.Fatal(err)
	}
	return newShell(t, mirror, standintest.EnvTables+"="+tables)
}

// TestAnUpgradeOfTheModuleGitOpsDeletesNothing plans today's module with the state of an earlier one: "flux install --export" has
// the namespace of everything that Flux applied, and a deletion would take it all.
func TestAnUpgradeOfTheModuleGitOpsDeletesNothing(t *testing.T) {
	dir := filepath.Join(modules(t), "gitops")
	now, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := kubectlShell(t)
	manifests := []string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system, labels: {part-of: flux}}\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gitrepositories.source.toolkit.fluxcd.io}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: source-controller, namespace: flux-system}\n",
	}
	write("main.tf", []byte(firstGitOps))
	if err := os.Remove(filepath.Join(dir, "outputs.tf")); err != nil {
		t.Fatal(err)
	}
	s.outputs(dir, map[string]any{"platform": "acme-eu", "kubeconfig": noCluster, "manifests": manifests, "labels": map[string]any{"platform": "acme-eu"}})

	write("main.tf", now)
	s.must(dir, "plan", "-input=false", "-no-color", "-out=plan")
	var plan struct {
		Changes []struct {
			Address string
			Change  struct {
				Actions []string
				After   map[string]any
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.must(dir, "show", "-json", "plan")), &plan); err != nil {
		t.Fatal(err)
	}
	kept, texts := false, map[string]any{}
	for _, c := range plan.Changes {
		if slices.Contains(c.Change.Actions, "delete") {
			t.Errorf("the upgrade does %v to %s", c.Change.Actions, c.Address)
		}
		texts[c.Address] = c.Change.After["yaml_body"]
		kept = kept || c.Address == `kubectl_manifest.first["000"]` && c.Change.After["apply_only"] == true
	}
	if !kept {
		t.Errorf("a later removal of its document would delete the namespace: %+v", plan.Changes)
	}
	// Two texts would remove each other's labels, and no plan would be empty.
	one, two := texts["kubectl_manifest.namespace"], texts[`kubectl_manifest.first["000"]`]
	if text, _ := one.(string); one != two || !strings.Contains(text, `"platform": "acme-eu"`) || !strings.Contains(text, `"part-of": "flux"`) {
		t.Errorf("the namespace is\n%v\nand\n%v", one, two)
	}
}
