// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// servers are the packages of testkit that start servers, which "make test" and the targets of the race detector neither
// build nor install.
var servers = []string{"vaulttest", "giteatest", "pdnstest", "dbtest"}

func TestNoTargetRunsTestsOfServersThatItDoesNotBuild(t *testing.T) {
	needs := map[string]string{}
	for _, line := range lines(t, "go", "list", "-test", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...") {
		fields := strings.Fields(line)
		for _, server := range servers {
			if path, ok := strings.CutSuffix(fields[0], ".test"); ok && slices.Contains(fields, "github.com/yuba-dev/yuba/internal/testkit/"+server) {
				needs[path] = server
			}
		}
	}
	if len(needs) < len(servers) {
		t.Fatalf("only %d packages need a server: %v", len(needs), needs)
	}
	for _, kind := range []string{"test", "light", "heavy"} {
		packages := lines(t, "tools/test-packages", kind)
		if len(packages) < 50 {
			t.Errorf("only %d packages are %s", len(packages), kind)
		}
		for _, path := range packages {
			if server := needs[path]; server != "" {
				t.Errorf("the tests of %s use %s, but tools/test-packages %s lists them. Add the package to those of its services", path, server, kind)
			}
		}
	}
	services := lines(t, "tools/test-packages", "services")
	for path, server := range needs {
		if server == "vaulttest" && !slices.Contains(services, path) {
			t.Errorf("the tests of %s use a Vault, but no target runs them", path)
		}
	}
}

// lines are those that a command prints, in the root of the repository.
func lines(t *testing.T, program string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
