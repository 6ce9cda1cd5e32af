// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// shop is the namespace of the estate.
const shop = "shop"

// estate starts a Yuba that has something on each of its pages: a source and what it brings, a module of
// the registry and who uses it, a contract, policies with their verdicts, tenants and a held deletion, a
// kind of applications with an instance, plans that wait, failures, drift, an outage, and stacks with runs,
// states and outputs.
func estate(t *testing.T) *server {
	t.Helper()
	live, mirror := t.TempDir(), filepath.Join(t.TempDir(), "providers")
	if err := tofutest.BuildProvider(mirror); err != nil {
		t.Fatal(err)
	}
	registry, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	s, err := launch(t.TempDir(), "--tofu", tofutest.Tofu(t), "--registry-address", registry, "--file-sources", live, "--provider-mirror", mirror, "--outage-stacks", "2")
	if err != nil {
		t.Fatal(err)
	}
	world := cloud.Start()
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
		world.Close()
	})
	began := time.Now()
	log := func(what string) { t.Logf("%5.1f s %s", time.Since(began).Seconds(), what) }
	repository(t, live)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		s.yuba(t, "registry", "push", "testdata/module", "acme/bucket/local@"+version)
	}
	s.yuba(t, "kubectl", "create", "namespace", shop)
	s.apply(t, "testdata/estate.yaml", strings.NewReplacer("@HOST@", registry, "@REPOSITORY@", live, "@CLOUD@", world.URL(), "@TOKEN@", world.Token()))
	log("applied")
	for _, name := range []string{"network", "cluster", "images", "database", "cache", "queue", "search", "acme-bucket", "globex-bucket", "hooli-bucket", "acme-eu-1-kubernetes"} {
		s.settles(t, shop, name, ready)
	}
	log("ready")
	eventually(t, "the definition is served as a kind", func() bool {
		_, code := s.run(t, "kubectl", "apply", "-f", "testdata/bucket.yaml")
		return code == 0
	})
	for _, name := range []string{"web", "bucket-photos"} {
		s.settles(t, shop, name, (*infrav1.Terraform).AwaitsApproval)
		s.yuba(t, "approve", name, "-n", shop, "--wait")
	}
	log("approved")
	changed(t, s, world)
	log("changed")
	return s
}

// changed lets time pass in the estate: some stacks change, others fail, and a provider is down.
func changed(t *testing.T, s *server, world *cloud.Cloud) {
	t.Helper()
	s.patch(t, "web", `{"spec":{"vars":[{"name":"color","value":"green"}]}}`)
	s.patch(t, "database", `{"spec":{"vars":[{"name":"size","value":1}]}}`)
	s.yuba(t, "kubectl", "-n", shop, "patch", "bucket", "photos", "--type=merge", "-p", `{"spec":{"gigabytes":50}}`)
	s.yuba(t, "kubectl", "-n", shop, "patch", "configmap", "sizes", "--type=merge", "-p", `{"data":{"replicas":"3"}}`)
	s.yuba(t, "kubectl", "-n", shop, "patch", "configmap", "customers", "--type=merge", "-p", `{"data":{"customers.csv":"id,url,active,plan\nacme,https://acme.example.com,1,pro\n"}}`)
	s.yuba(t, "reconcile", "tenantregistry", "customers", "-n", shop)
	for _, name := range []string{"cache", "queue"} {
		world.Fail(http.MethodGet, name, http.StatusServiceUnavailable, "the cloud is being repaired")
		s.yuba(t, "replan", name, "-n", shop)
	}
	eventually(t, "a circuit breaker opens", func() bool {
		var all yubav1.CircuitBreakerList
		return s.client.List(t.Context(), &all) == nil && len(all.Items) > 0
	})
	world.Put("search", "changed by somebody")
	s.yuba(t, "replan", "search", "-n", shop)
	for _, name := range []string{"web", "web-eu", "dns", "database", "search", "bucket-photos"} {
		s.settles(t, shop, name, (*infrav1.Terraform).AwaitsApproval)
	}
	s.settles(t, shop, "cluster", ready)
	for _, name := range []string{"billing", "reports"} {
		s.settles(t, shop, name, func(stack *infrav1.Terraform) bool {
			return conditions.Of(stack, infrav1.ConditionReady).Status == "False"
		})
	}
	eventually(t, "the deletion of tenants is held", func() bool {
		var registry tenantv1.TenantRegistry
		return s.client.Get(t.Context(), types.NamespacedName{Namespace: shop, Name: "customers"}, &registry) == nil &&
			conditions.Of(&registry, "Held").Status == "True"
	})
}

func ready(stack *infrav1.Terraform) bool {
	return conditions.Of(stack, infrav1.ConditionReady).Status == "True" && stack.Status.ObservedGeneration == stack.Generation
}

// repository makes a git repository of testdata/live.
func repository(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/live")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com", "commit", "-qm", "The network of the shop"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// apply applies the manifests of a file in which words are replaced.
func (s *server) apply(t *testing.T, file string, words *strings.Replacer) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replaced := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(replaced, []byte(words.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	s.yuba(t, "kubectl", "apply", "-f", replaced)
}

// patch changes a stack of the estate.
func (s *server) patch(t *testing.T, name, patch string) {
	t.Helper()
	stack := infrav1.Terraform{}
	stack.Namespace, stack.Name = shop, name
	if err := s.client.Patch(t.Context(), &stack, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
