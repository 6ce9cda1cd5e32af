// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// What makes yuba large must not come in here: a machine has one of these beside each server, or many.
func TestNothingOfKubernetesIsLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.Contains(pkg, "k8s.io/") {
			t.Errorf("%s is linked", strings.TrimSpace(pkg))
		}
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ args, want string }{
		"nothing":         {"", `"yuba up" starts the runner automatically`},
		"a word too many": {"once more", `unexpected "once"`},
		"a format":        {"--log-format xml", `--log-format "xml": want text or json`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(strings.Fields(test.args)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
