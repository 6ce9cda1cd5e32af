// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

const wholeTree = `Kustomization/NS/root  main@sha1:0123456789  from GitRepository/infra, clusters/prod  ready
├── ConfigMap/NS/init
├── ClusterRole/admins:of
├── Kustomization/NS/team  main@sha1:0123456789  from GitRepository/infra, team  suspended
│   ├── OCIRepository/NS/network  1.4.0@sha256:fedcba9876  not ready: no route to host
│   ├── Terraform/NS/vpc  1.4.0@sha256:fedcba9876  from OCIRepository/network  outputs in Secret/vpc-outputs  not ready: no such region  its source: not ready: no route to host
│   └── Kustomization/NS/root  main@sha1:0123456789  from GitRepository/infra, clusters/prod  ready
└── Kustomization/NS/gone  missing
`

func TestTree(t *testing.T) {
	ns := landscape(t)
	for line, want := range map[string]string{
		"tree kustomization root": wholeTree,
		"tree ks root --compact":  strings.ReplaceAll(strings.ReplaceAll(wholeTree, "├── ConfigMap/NS/init\n", ""), "├── ClusterRole/admins:of\n", ""),
		"tree":                    wholeTree + "GitRepository/NS/infra  main@sha1:0123456789  ready\nReceiver/NS/push  ready\nProvider/NS/chat\nAlert/NS/loud\n",
		"tree vpc": `Kustomization/NS/root  main@sha1:0123456789  from GitRepository/infra, clusters/prod  ready
└── Kustomization/NS/team  main@sha1:0123456789  from GitRepository/infra, team  suspended
    └── Terraform/NS/vpc  1.4.0@sha256:fedcba9876  from OCIRepository/network  outputs in Secret/vpc-outputs  not ready: no such region  its source: not ready: no route to host
`,
	} {
		t.Run(line, func(t *testing.T) {
			got := yuba(t, ns, strings.Fields(line)...)
			got.out = strings.ReplaceAll(got.out, ns, "NS")
			got.want(t, exitOK, want)
		})
	}
	yuba(t, ns, "tree", "nope").want(t, exitNotFound, "", "there is no such stack")
	yuba(t, apitest.Namespace(t), "tree").want(t, exitOK, "", "There are no sources, Kustomizations, tenants or stacks")

	got := yuba(t, ns, "tree", "terraform", "vpc", "-o", "json")
	var roots []*treeNode
	if err := json.Unmarshal([]byte(strings.ReplaceAll(got.out, ns, "NS")), &roots); err != nil {
		t.Fatal(err)
	}
	repository := &treeNode{Kind: "GitRepository", Group: "source.toolkit.fluxcd.io", Namespace: "NS", Name: "infra", Ready: "True", Revision: commit}
	want := []*treeNode{{Kind: "Kustomization", Group: "kustomize.toolkit.fluxcd.io", Namespace: "NS", Name: "root", Ready: "True", Revision: commit, Path: "./clusters/prod", Source: repository,
		Children: []*treeNode{{Kind: "Kustomization", Group: "kustomize.toolkit.fluxcd.io", Namespace: "NS", Name: "team", Ready: "True", Suspended: true, Revision: commit, Path: "./team", Source: repository,
			Children: []*treeNode{{Kind: "Terraform", Group: "infra.contrib.fluxcd.io", Namespace: "NS", Name: "vpc", Ready: "False", Message: "no such region\nat main.tf", Revision: digest, Outputs: "vpc-outputs",
				Source: &treeNode{Kind: "OCIRepository", Group: "source.toolkit.fluxcd.io", Namespace: "NS", Name: "network", Ready: "False", Message: "no route to host", Revision: digest}}}}}}}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Error(diff)
	}
}

func TestEntriesOfInventories(t *testing.T) {
	for id, want := range map[string]string{
		"ns_name_group.io_Kind": "group.io Kind/ns/name", "ns_name__ConfigMap": " ConfigMap/ns/name", "_crd.example.com_apiextensions.k8s.io_CustomResourceDefinition": "apiextensions.k8s.io CustomResourceDefinition/crd.example.com",
		"_system__node_rbac.authorization.k8s.io_ClusterRole": "rbac.authorization.k8s.io ClusterRole/system:node", "": "", "a": "", "a_b": "", "a_b_c": "", "____": "",
	} {
		n, _, ok := inventoryNode(id)
		if got := ""; ok {
			if got = n.Group + " " + n.String(); got != want {
				t.Errorf("%q: got %q, want %q", id, got, want)
			}
		} else if want != "" {
			t.Errorf("%q is refused", id)
		}
	}
}

// What is above a stack is told where people look first.
func TestStatusTellsWhereAStackComesFrom(t *testing.T) {
	ns := landscape(t)
	got := yuba(t, ns, "status", "vpc")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	for _, part := range []string{
		"Source      OCIRepository/network\n            not ready since ", ": no route to host\n            The last good one is used: 1.4.0@sha256:fedcba9876\n",
		"Applied by  Kustomization/NS/team, main@sha1:0123456789, suspended\n",
	} {
		if !strings.Contains(got.out, part) {
			t.Errorf("%q is missing:\n%s%s", part, got.out, got.news)
		}
	}
}
