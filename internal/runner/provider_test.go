// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/run"
)

// mirrorWith puts a program where a provider would be. init installs it without starting it.
func mirrorWith(t *testing.T, name, version string) string {
	t.Helper()
	mirror := filepath.Join(t.TempDir(), "providers")
	dir := filepath.Join(mirror, "registry.example.com", "yuba", name, version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\necho this is no provider\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "terraform-provider-"+name+"_v"+version), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	return mirror
}

const needsProvider = `
terraform {
  required_providers {
    dummy = { source = "registry.example.com/yuba/dummy" }
  }
}
resource "dummy_thing" "a" {}
`

func TestProviderComesFromTheMirrorAndItsLockFileIsReported(t *testing.T) {
	b := newBench(t)
	b.opts.ProviderMirror = mirrorWith(t, "dummy", "1.2.3")
	b.start()
	first := b.stack("provided", run.OperationPlan, program(needsProvider))
	result := b.do(first)
	if result.FailedStep != run.StepPlan { // the program in the mirror is no provider: only init can succeed
		t.Fatalf("%+v\n%s", result, first.log)
	}
	if !strings.Contains(string(result.LockFile), "registry.example.com/yuba/dummy") || !strings.Contains(string(result.LockFile), "h1:") {
		t.Errorf("lock file:\n%s", result.LockFile)
	}
	second := first.again(run.OperationPlan)
	second.spec.LockFile = result.LockFile
	recorded := b.do(second)
	if recorded.LockFile != nil || recorded.FailedStep != run.StepPlan {
		t.Errorf("%+v", recorded)
	}
	third := b.do(second.again(run.OperationPlan))
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(third)); diff != "" {
		t.Errorf("with the recorded lock file: %s", diff)
	}
}

func TestLockFileOfTheSourceWins(t *testing.T) {
	b := newBench(t)
	b.opts.ProviderMirror = mirrorWith(t, "dummy", "1.2.3")
	b.start()
	files := program(needsProvider)
	files[lockFileTF] = "provider \"registry.example.com/yuba/dummy\" {\n  version = \"1.2.3\"\n}\n"
	first := b.stack("locked", run.OperationPlan, files)
	first.spec.LockFile = []byte("not the one")
	if result := b.do(first); result.FailedStep != run.StepPlan || result.LockFile != nil {
		t.Fatalf("%+v", result)
	}
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.do(first.again(run.OperationPlan)))); diff != "" {
		t.Errorf("second pass: %s", diff)
	}
}

func TestChangedInputsOfInitRunItAgain(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("again", run.OperationPlan, program("variable \"v\" { default = 1 }\n"+twoThings))
	b.succeed(first)
	cases := map[string]func(r *fakeRun){
		"an upgrade is asked for": func(r *fakeRun) { r.spec.Upgrade = true },
		"a variable":              func(r *fakeRun) { r.spec.Variables = map[string]run.Variable{"v": {Value: []byte("2")}} },
		"the backend":             func(r *fakeRun) { r.spec.Backend.Override += "\n# changed\n" },
		"the workspace":           func(r *fakeRun) { r.spec.Workspace = "other" },
		"the source": func(r *fakeRun) {
			other := b.stack("again", run.OperationPlan, program(twoThings))
			r.artifact, r.spec.Artifact = other.artifact, other.spec.Artifact
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r := first.again(run.OperationPlan)
			change(r)
			if result := b.succeed(r); result.Init == run.InitUnchanged {
				t.Errorf("init: %q", result.Init)
			}
		})
	}
}

func TestStackOfTheSameNameStartsAfresh(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("reborn", run.OperationPlan, program(twoThings))
	b.succeed(first)
	leftover := filepath.Join(b.opts.WorkRoot, "team", "reborn", homeDir, "token")
	if err := os.WriteFile(leftover, []byte("of the one before"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := first.again(run.OperationPlan)
	second.spec.Stack.UID = "another"
	b.succeed(second)
	if _, err := os.Lstat(leftover); err == nil {
		t.Error("the home of the stack before is still there")
	}
}

func TestHostileArchiveIsRefused(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("archive", run.OperationPlan, program(twoThings))
	r.artifact = append([]byte(nil), r.artifact...)
	r.artifact[len(r.artifact)-9] ^= 1
	if result := b.do(r); result.Class != run.FailureSource || result.FailedStep != run.StepPrepare {
		t.Errorf("%+v", result)
	}
	large := b.stack("archive", run.OperationPlan, map[string]string{"main.tf": strings.Repeat("# comment\n", 10000)})
	large.spec.Limits.UnpackedBytes = 1000
	if result := b.do(large); result.Class != run.FailureLimit {
		t.Errorf("%+v", result)
	}
}
