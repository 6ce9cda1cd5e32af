// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fluxtest provides Flux's own CustomResourceDefinitions in the versions of go.mod. They come
// from Flux's modules through the module proxy, and are not copied to the repository.
//
// The proxy does not serve the module of notification-controller. Its definitions are those that "make
// generate" generates from its Go types.
package fluxtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// controllers publish definitions in their modules.
var controllers = []string{"github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller"}

// Definitions returns Flux's CustomResourceDefinitions by file name.
func Definitions(t testing.TB) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, controller := range controllers {
		version := strings.TrimSpace(string(goCommand(t, "list", "-m", "-f", "{{.Version}}", controller+"/api")))
		files, err := filepath.Glob(filepath.Join(Module(t, controller+"@"+version), "config", "crd", "bases", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s %s publishes no definitions: %v", controller, version, err)
		}
		for _, file := range files {
			definition, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Base(file)] = definition
		}
	}
	return found
}

// TofuController returns the CustomResourceDefinition of stacks of tofu-controller 0.16.5.
func TofuController(t testing.TB) []byte {
	t.Helper()
	dir := Module(t, "github.com/flux-iac/tofu-controller@v0.16.5")
	definition, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", "infra.contrib.fluxcd.io_terraforms.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

// Module returns the directory of a module PATH@VERSION.
func Module(t testing.TB, name string) string {
	t.Helper()
	var module struct{ Dir string }
	if err := json.Unmarshal(goCommand(t, "mod", "download", "-json", name), &module); err != nil {
		t.Fatalf("download %s: %v", name, err)
	}
	return module.Dir
}

func goCommand(t testing.TB, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = tofutest.RepositoryRoot(t)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return out
}
