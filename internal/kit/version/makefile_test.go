// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// Without the stamp "kubectl version" fails on a version that is none.
func TestABuildSaysWhichKubernetesItServes(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, r := range mod.Require {
		if r.Mod.Path == "k8s.io/kubernetes" {
			want = "-X k8s.io/component-base/version.gitVersion=" + r.Mod.Version + " "
		}
	}
	commands, err := exec.Command("make", "-n", "-C", root, "build").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n build: %v\n%s", err, commands)
	}
	if want == "" || !strings.Contains(string(commands), want) {
		t.Errorf("want %q in\n%s", want, commands)
	}
}
