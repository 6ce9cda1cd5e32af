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

// ownTargets are the directories of test/ with a target of their own, or named by "make test" itself.
var ownTargets = []string{"backends", "cluster", "conformance", "e2e", "forges", "platform/local", "platform/node", "web"}

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
	run := append(lines(t, "tools/test-packages", "test"), services...)
	for _, path := range lines(t, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...") {
		if own := slices.ContainsFunc(ownTargets, func(name string) bool { return strings.HasSuffix(path, "/test/"+name) }); path != "" && own == slices.Contains(run, path) {
			t.Errorf("the tests of %s must be run either by \"make test\" and \"make test-services\" or by a target of their own", path)
		}
	}
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
