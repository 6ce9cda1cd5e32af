// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/backendtest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// kubernetes lets an account of the home keep states in the home itself.
func kubernetes(t *testing.T, h home) *backendtest.Server {
	t.Helper()
	h.Apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: states}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: states}
rules:
  - {apiGroups: [""], resources: [secrets], verbs: [get, list, create, update, patch, delete]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: states}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: states}
subjects: [{kind: ServiceAccount, name: states}]
`)
	config, err := clientcmd.BuildConfigFromFlags("", h.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	admin := place{Server: &backendtest.Server{}, home: h}
	token := strings.TrimSpace(admin.command(t, "kubectl", "-n", h.Namespace, "create", "token", "states"))
	return &backendtest.Server{Secret: map[string]string{"token": token},
		Settings: map[string]string{"host": config.Host, "cluster_ca_certificate": string(config.CAData), "namespace": h.Namespace}}
}

// TestStatesInEveryBackend moves a state to each backend and back.
func TestStatesInEveryBackend(t *testing.T) {
	programs := filepath.Join(tofutest.RepositoryRoot(t), "bin")
	h := home{tenanttest.Launch(t, programs), filepath.Join(programs, "yuba")}
	gcs, azure, s3, cluster := backendtest.GCS(t, "states"), backendtest.Azure(t, "states"), backendtest.LockedS3(t, "states", "locks"), kubernetes(t, h)
	service := backendtest.Cloud(t)
	cloud := service.Server
	for _, other := range []string{"one", "two"} { // so that init cannot guess which workspace is meant
		service.Create("prefixed-" + other)
		service.Create("tagged-"+other, "tagged")
	}
	service.Create("prefixed-staging")
	service.Create("tagged-staging", "tagged")
	set := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, p := range []*place{
		{Server: gcs, name: "gcs", kind: "gcs", settings: set("prefix", "a/net"), denied: "401"},
		{Server: gcs, name: "gcs-staging", kind: "gcs", workspace: "staging", settings: set("prefix", "b/net"), denied: "401"},
		{Server: azure, name: "azure", kind: "azurerm", settings: set("key", "a/net.tfstate"), denied: "AuthorizationFailure"},
		{Server: azure, name: "azure-staging", kind: "azurerm", workspace: "staging", settings: set("key", "b/net.tfstate"), denied: "AuthorizationFailure"},
		{Server: s3, name: "dynamodb", kind: "s3", settings: set("key", "a/net.tfstate"), denied: "No user exists with the provided access key"},
		{Server: s3, name: "dynamodb-staging", kind: "s3", workspace: "staging", settings: set("key", "b/net.tfstate"), denied: "No user exists with the provided access key"},
		{Server: cluster, name: "cluster", kind: "kubernetes", settings: set("secret_suffix", "a-net"), denied: "Unauthorized"},
		{Server: cluster, name: "cluster-staging", kind: "kubernetes", workspace: "staging", settings: set("secret_suffix", "b-net"), denied: "Unauthorized"},
		{Server: cloud, name: "remote", kind: "remote", settings: set("workspaces.name", "net"), denied: "unauthorized"},
		{Server: cloud, name: "remote-staging", kind: "remote", workspace: "staging", settings: set("workspaces.prefix", "prefixed-"), denied: "unauthorized"},
		{Server: cloud, name: "cloud", kind: "cloud", settings: set("workspaces.name", "other"), denied: "unauthorized"},
		{Server: cloud, name: "cloud-staging", kind: "cloud", workspace: "tagged-staging", settings: set("workspaces.tags", "tagged"), denied: "unauthorized"},
	} {
		p.home = h
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			travels(t, p)
		})
	}
}

// travels moves the state of a stack to its place, works with it there, and moves it back.
func travels(t *testing.T, p *place) {
	p.create(t, p.kind != "cloud")
	p.at(t, "yuba")
	lineage, serial, content := p.pulled(t)
	if p.kind == "cloud" {
		p.keep(t, map[string]string{"token": "wr0ng"})
	}
	said := p.refused(t, p.migrate()...)
	if !strings.Contains(said, p.denied) {
		t.Errorf("with a wrong credential:\n%s", said)
	}
	t.Logf("with a wrong credential:\n%s", said)
	p.keep(t, p.Secret)
	p.command(t, "state", "migrate", p.stack(), "--yes")
	p.at(t, p.kind)
	is, newer, there := p.pulled(t)
	if diff := cmp.Diff(content, there); diff != "" || is != lineage || newer <= serial {
		t.Errorf("lineage %s, was %s; serial %d after %d (-want +got):\n%s", is, lineage, newer, serial, diff)
	}
	locked(t, p)
	changes(t, p)
	_, serial, content = p.pulled(t)
	p.command(t, "state", "migrate", p.stack(), "--yes", "--to", "yuba")
	p.at(t, "yuba")
	is, newer, back := p.pulled(t)
	if diff := cmp.Diff(content, back); diff != "" || is != lineage || newer <= serial {
		t.Errorf("back: lineage %s, was %s; serial %d after %d (-want +got):\n%s", is, lineage, newer, serial, diff)
	}
	hidden(t, p)
}

// locked meets the lock of a colleague who is gone.
func locked(t *testing.T, p *place) {
	t.Helper()
	p.colleague(t).dies(t)
	said := p.refused(t, "replan", p.stack(), "--wait")
	var o infrav1.Terraform
	p.Get(t, p.name, &o)
	id := o.Status.Lock.Pending
	if id == "" {
		t.Fatalf("the lock is not known:\n%s", said)
	}
	status := p.command(t, "status", p.stack())
	t.Logf("locked:\n%s\n%s", said, status)
	if !strings.Contains(status, "yuba force-unlock") || !strings.Contains(status, id) {
		t.Errorf("the status does not say how to break the lock %s:\n%s", id, status)
	}
	p.command(t, "force-unlock", p.stack(), id)
	p.command(t, "replan", p.stack(), "--wait")
	p.at(t, p.kind)
}

// changes applies a change at the place, and reads the state there.
func changes(t *testing.T, p *place) {
	t.Helper()
	p.command(t, "kubectl", "-n", p.Namespace, "patch", "tf", p.name, "--type=merge", "-p", `{"spec":{"vars":[{"name":"more","value":["c"]}]}}`)
	p.at(t, p.kind)
	if list := p.command(t, "state", "list", p.stack()); !strings.Contains(list, `terraform_data.each["c"]`) {
		t.Errorf("after a change the state has\n%s", list)
	}
	if shown := p.command(t, "state", "show", p.stack(), `terraform_data.each["c"]`); !strings.Contains(shown, "name") {
		t.Errorf("the resource is\n%s", shown)
	}
}

// hidden looks for the credential where people read.
func hidden(t *testing.T, p *place) {
	t.Helper()
	p.unseen(t, "the server's log", p.Log())
	for _, args := range [][]string{
		{"kubectl", "-n", p.Namespace, "get", "tf", p.name, "-o", "yaml"}, {"kubectl", "-n", p.Namespace, "get", "events", "-o", "yaml"},
		{"runs", p.stack(), "-o", "json"}, {"logs", p.stack()},
	} {
		p.command(t, args...)
	}
}
