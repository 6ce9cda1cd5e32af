// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// Twelve stacks at once download and verify their provider once, and continue when the registry is
// away.
func TestStacksDownloadTheirProviderOnce(t *testing.T) {
	y, ns := common(t)
	c, stackOptions := cloudy(t, y, ns)
	built, err := os.ReadFile(filepath.Join(providerMirror(), "registry.opentofu.org", "yuba-dev", "yubatest", "0.1.0",
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	registry := registrytest.New(t)
	const provider = "acme/yubatest"
	registry.Publish(provider, "1.0.0", map[string][]byte{"terraform-provider-yubatest_v1.0.0": built})
	ca := registry.CAFile(providerMirror()) // what runs may read, as they may the system's certificates
	trusting := func(o *infrav1.Terraform) {
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: ca})
	}
	stack := func(name string) *infrav1.Terraform {
		hcl := fmt.Sprintf("terraform {\n  required_providers {\n    yubatest = {\n      source = %q\n      version = \"~> 1.0\"\n    }\n  }\n}\nprovider \"yubatest\" {}\n%s",
			registry.Source(provider), objectHCL(name, "value"))
		return inline(ns, name, hcl, auto, stackOptions, trusting)
	}
	var all []*infrav1.Terraform
	for i := range 12 {
		all = append(all, stack(fmt.Sprint("s", i)))
		y.create(t, all[i])
	}
	downloads := 0
	for _, obj := range all {
		done := y.await(t, obj, "it is ready", ready)
		has(t, c, obj.Name, "value")
		rec, err := y.content(t).Run(t.Context(), ns, obj.Name, done.Status.LastAppliedRun)
		if err != nil || rec.Result.Providers == nil {
			t.Fatalf("%+v %v", rec.Result, err)
		}
		downloads += rec.Result.Providers.Downloads
	}
	want := registrytest.Counts{Versions: 1, Archives: 1, Bytes: registry.Size(provider, "1.0.0")}
	if got := registry.Counts(); got != want || downloads != 1 {
		t.Errorf("%+v and %d downloads, want %+v", got, downloads, want)
	}
	registry.SetDown(true)
	late := stack("late")
	y.create(t, late)
	y.await(t, late, "it is ready", ready)
	has(t, c, late.Name, "value")
	out, _ := y.do(t, "providers", "-o", "json")
	var listed struct{ Items []run.StoredProvider }
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range listed.Items {
		if p.Source == registry.Source(provider) {
			found = p.Users == 13 && p.Version == "1.0.0" && p.Size >= int64(len(built)) && strings.HasPrefix(p.Scope, "own-")
		}
	}
	if !found {
		t.Errorf("%+v", listed)
	}
	// A person removes a wrong package, and the next stack that needs it downloads it again.
	registry.SetDown(false)
	if _, news := y.do(t, "providers", "remove", registry.Source(provider), "1.0.0"); !strings.Contains(news, "1.0.0 is removed") {
		t.Errorf("removed: %s", news)
	}
	y.do(t, "reconcile", "s0", "-n", ns)
	if got := registry.Counts(); got.Archives != 2 {
		t.Errorf("after it was removed: %+v", got)
	}
	if _, news, code := y.run(t, "providers", "remove", registry.Source(provider), "9.9.9"); code != 3 || !strings.Contains(news, "the provider is not stored") {
		t.Errorf("code %d: %s", code, news)
	}
}
