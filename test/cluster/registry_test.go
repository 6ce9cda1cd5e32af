// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// yubaCommand runs bin/yuba with the cluster's kubeconfig and returns its standard output.
func yubaCommand(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(tofutest.RepositoryRoot(t), "bin", "yuba"), append(args, "--kubeconfig", *kubeconfig)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("yuba %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return strings.TrimSpace(out.String())
}

// A module that is published with nothing but a kubeconfig is installed in Pods that reach nothing but
// Yuba, and both replicas know it: the bucket is theirs in common.
func TestStacksInPodsUseTheRegistry(t *testing.T) {
	tm := newTeam(t, false)
	dir := t.TempDir()
	module := fmt.Sprintf("cluster/m%d/test", time.Now().UnixNano())
	must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"greeting\" {\n  value = \"hello\"\n}\n"), 0o600))
	yubaCommand(t, "registry", "push", dir, module+"@1.0.0")
	tm.deploy("user", fmt.Sprintf(`
module "m" {
  source  = "%s/%s"
  version = "~> 1.0"
}
output "greeting" { value = module.m.greeting }`, yubaCommand(t, "registry", "host"), module), func(s *infrav1.TerraformSpec) {
		s.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "outputs"}
	})
	tm.await("user", "is applied", applied)
	if users := yubaCommand(t, "registry", "users", module); !strings.Contains(users, tm.name) || !strings.Contains(users, "1.0.0") {
		t.Errorf("its users are:\n%s", users)
	}
	for _, leader := range leaders(t) {
		kill(t, &leader)
	}
	eventually(t, "the next leader knows the module", func() string {
		out, err := exec.CommandContext(t.Context(), filepath.Join(tofutest.RepositoryRoot(t), "bin", "yuba"), "registry", "versions", module, "--kubeconfig", *kubeconfig).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1.0.0") {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	})
}
