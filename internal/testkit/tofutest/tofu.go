// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tofutest finds the real OpenTofu that tests run.
//
// Tests never replace tofu by a double and are never skipped because it is missing: Tofu ends the
// test with the command that builds it. The package is separate from the API server for tests
// (package apitest), so that a test which needs only tofu does not link a control plane.
package tofutest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// EnvTofu names the environment variable that overrides which tofu the tests run.
const EnvTofu = "YUBA_TOFU"

// Tofu returns the absolute path of the tofu to test with: the one EnvTofu names, else bin/tofu of
// this repository, else the one on PATH. Without any of them the test fails.
func Tofu(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvTofu); path != "" {
		return mustBeProgram(t, path)
	}
	if path := filepath.Join(RepositoryRoot(t), "bin", "tofu"); isProgram(path) {
		return path
	}
	if path, err := exec.LookPath("tofu"); err == nil {
		return mustBeProgram(t, path)
	}
	t.Fatal("no tofu to test with.\nBuild it:\n    make tofu")
	return ""
}

// RepositoryRoot returns the directory that holds this repository's go.mod.
func RepositoryRoot(t testing.TB) string {
	t.Helper()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// started is the directory in which the process started: that of the tested package.
var started, startedErr = os.Getwd()

func repositoryRoot() (string, error) {
	if startedErr != nil {
		return "", fmt.Errorf("find the repository's root: %w", startedErr)
	}
	for dir := started; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/yuba-dev/yuba\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository's root: no go.mod of Yuba in or above %s", started)
		}
	}
}

func mustBeProgram(t testing.TB, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatalf("find tofu at %s: %v", path, err)
	}
	if !isProgram(absolute) {
		t.Fatalf("tofu at %s is not an executable file.\nBuild one:\n    make tofu", absolute)
	}
	return absolute
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
