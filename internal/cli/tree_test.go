// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/ui"
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

// treeAnswer is a node of the answer in JSON.
type treeAnswer struct {
	Kind, Group, Namespace, Name, Ready, Message, Revision, Path, Outputs string
	Suspended                                                             bool
	Source                                                                *treeAnswer
	Children                                                              []*treeAnswer
}

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
			got.want(t, ui.ExitOK, want)
		})
	}
	yuba(t, ns, "tree", "nope").want(t, ui.ExitNotFound, "", "there is no such stack")
	yuba(t, apitest.Namespace(t), "tree").want(t, ui.ExitOK, "", "No sources, Kustomizations, tenants or stacks found")

	got := yuba(t, ns, "tree", "terraform", "vpc", "-o", "json")
	var roots []*treeAnswer
	if err := json.Unmarshal([]byte(strings.ReplaceAll(got.out, ns, "NS")), &roots); err != nil {
		t.Fatal(err)
	}
	repository := &treeAnswer{Kind: "GitRepository", Group: "source.toolkit.fluxcd.io", Namespace: "NS", Name: "infra", Ready: "True", Revision: commit}
	want := []*treeAnswer{{Kind: "Kustomization", Group: "kustomize.toolkit.fluxcd.io", Namespace: "NS", Name: "root", Ready: "True", Revision: commit, Path: "./clusters/prod", Source: repository,
		Children: []*treeAnswer{{Kind: "Kustomization", Group: "kustomize.toolkit.fluxcd.io", Namespace: "NS", Name: "team", Ready: "True", Suspended: true, Revision: commit, Path: "./team", Source: repository,
			Children: []*treeAnswer{{Kind: "Terraform", Group: "infra.contrib.fluxcd.io", Namespace: "NS", Name: "vpc", Ready: "False", Message: "no such region\nat main.tf", Revision: digest, Outputs: "vpc-outputs",
				Source: &treeAnswer{Kind: "OCIRepository", Group: "source.toolkit.fluxcd.io", Namespace: "NS", Name: "network", Ready: "False", Message: "no route to host", Revision: digest}}}}}}}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Error(diff)
	}
}

// What is above a stack is told where people look first.
func TestStatusTellsWhereAStackComesFrom(t *testing.T) {
	ns := landscape(t)
	got := yuba(t, ns, "status", "vpc")
	got.out = strings.ReplaceAll(got.out, ns, "NS")
	for _, part := range []string{
		"Source      OCIRepository/network\n            not ready since ", ": no route to host\n            The stack uses the last good revision: 1.4.0@sha256:fedcba9876\n",
		"Applied by  Kustomization/NS/team, main@sha1:0123456789, suspended\n",
	} {
		if !strings.Contains(got.out, part) {
			t.Errorf("%q is missing:\n%s%s", part, got.out, got.news)
		}
	}
}
