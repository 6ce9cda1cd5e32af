// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// Several stacks download a real provider, and run it from the store inside the sandbox.
func TestARealProviderWorksFromTheStore(t *testing.T) {
	b := newStoreBench(t)
	program := filepath.Join(t.TempDir(), "provider")
	build := exec.Command("go", "build", "-C", filepath.Join(tofutest.RepositoryRoot(t), "test", "provider"), "-buildvcs=false", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") //nolint:forbidigo // go needs its caches
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test provider: %v\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	const name, version = "yuba-dev/yubatest", "0.1.0"
	b.registry.Publish(name, version, map[string][]byte{"terraform-provider-yubatest_v" + version: content})
	c := cloud.Start()
	t.Cleanup(c.Close)
	b.start()
	stack := func(stackName string) *fakeRun {
		r := b.trusting(b.stack(stackName, run.OperationPlanAndApply, map[string]string{"main.tf": fmt.Sprintf(`
terraform {
  required_providers {
    yubatest = { source = %q }
  }
}
resource "yubatest_object" "x" {
  name    = "of-%s"
  content = "value"
}
`, b.registry.Source(name), stackName)}))
		r.spec.Env = []run.EnvVar{{Name: "SSL_CERT_FILE", Value: b.ca}} // with own tool settings init would always run
		r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, run.EnvVar{Name: "YUBATEST_TOKEN", Value: c.Token(), Secret: true})
		r.spec.Describe, r.spec.PlanText = true, true // with init's provider
		r.spec.Upgrade = true
		return r
	}
	first := stack("first")
	if result := b.succeed(first); result.Init != run.InitRan || result.Providers.Downloads != 1 || result.Providers.DownloadedBytes != int64(len(content)) {
		t.Errorf("%+v %+v", result, result.Providers)
	}
	// The others reuse init's result, and start no process for it.
	second := b.succeed(stack("second"))
	if slices.Contains(processes(second), run.StepInit) || second.Init != run.InitReplayed || second.Providers.Hits != 1 {
		t.Errorf("%+v %+v", second, second.Providers)
	}
	for _, object := range []string{"of-first", "of-second"} {
		if _, there := c.Object(object); !there {
			t.Errorf("there is no object %s", object)
		}
	}
	if got := b.registry.Counts(); got.Archives != 1 || got.Versions != 1 || got.Bytes != b.registry.Size(name, version) {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(string(second.LockFile), "# This file is maintained automatically") {
		t.Errorf("%s", second.LockFile)
	}
	again := b.succeed(first.again(run.OperationPlan))
	if again.Plan.Changes {
		t.Errorf("%+v", again.Plan)
	}
}
