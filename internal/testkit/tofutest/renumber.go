// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Renumbered returns the real tofu's program with another version of the same length. It is a copy whose
// embedded version is replaced, so it plans and applies as the real one does: only one version of
// OpenTofu can be had from the Go module proxy without a build of some minutes.
func Renumbered(t testing.TB, version string) []byte {
	t.Helper()
	path := Tofu(t)
	out, err := exec.Command(path, "version").Output()
	if err != nil {
		t.Fatalf("ask %s for its version: %v", path, err)
	}
	// A warning about the user's configuration may precede the version.
	_, after, _ := strings.Cut(string(out), "OpenTofu v")
	is, _, _ := strings.Cut(after, "\n")
	if len(is) != len(version) {
		t.Fatalf("renumber tofu %s: %s has another length", is, version)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return bytes.ReplaceAll(content, []byte(is), []byte(version))
}
