// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// mirrorWith puts a program in the place of a provider. Init installs it without starting it.
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
	if result.FailedStep != run.StepPlan { // the program is not a provider: only init can succeed
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
	files[workspace.LockFileTF] = "provider \"registry.example.com/yuba/dummy\" {\n  version = \"1.2.3\"\n}\n"
	first := b.stack("locked", run.OperationPlan, files)
	first.spec.LockFile = []byte("not the one")
	if result := b.do(first); result.FailedStep != run.StepPlan || result.LockFile != nil {
		t.Fatalf("%+v", result)
	}
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.do(first.again(run.OperationPlan)))); diff != "" {
		t.Errorf("second run: %s", diff)
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
	leftover := filepath.Join(b.opts.WorkRoot, "team", "reborn", workspace.HomeDir, "token")
	b.put(leftover, []byte("of the one before"))
	second := first.again(run.OperationPlan)
	second.spec.Stack.UID = "another"
	b.succeed(second)
	if _, err := os.Lstat(leftover); err == nil {
		t.Error("the previous stack's home is still there")
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

// tofu-controller's documented way to pin providers: a mapped lock file and upgradeOnInit: false.
func TestLockFileThatComesWithTheRunPins(t *testing.T) {
	lock := []byte("provider \"registry.example.com/yuba/dummy\" {\n  version = \"1.2.3\"\n}\n")
	for name, c := range map[string]struct {
		change  func(*fakeRun)
		version string
	}{
		"without it the newest is chosen":           {func(r *fakeRun) { r.spec.Files = nil }, "1.3.0"},
		"it pins":                                   {func(*fakeRun) {}, "1.2.3"},
		"it wins over the one that was recorded":    {func(r *fakeRun) { r.spec.LockFile = bytes.ReplaceAll(lock, []byte("1.2.3"), []byte("1.3.0")) }, "1.2.3"},
		"an upgrade goes beyond it, as init does":   {func(r *fakeRun) { r.spec.Upgrade = true }, "1.3.0"},
		"a stack that had another one before it":    {func(r *fakeRun) { r.spec.Stack.Name = "before" }, "1.2.3"},
		"one of the source gives way, as any other": {func(r *fakeRun) { r.artifact, r.spec.Artifact = withLock(r, "1.3.0") }, "1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.opts.ProviderMirror = mirrorWith(t, "dummy", "1.2.3")
			newer := mirrorWith(t, "dummy", "1.3.0")
			const at = "registry.example.com/yuba/dummy/1.3.0"
			if err := os.Rename(filepath.Join(newer, at), filepath.Join(b.opts.ProviderMirror, at)); err != nil {
				t.Fatal(err)
			}
			b.start()
			before := b.stack("before", run.OperationPlan, program(needsProvider))
			b.do(before)
			r := b.stack("pinned", run.OperationPlan, program(needsProvider))
			r.spec.Files = []run.File{{Location: run.FileInModule, Path: workspace.LockFileTF, Content: lock}}
			c.change(r)
			result := b.do(r)
			if result.FailedStep != run.StepPlan { // the program is not a provider: only init can succeed
				t.Fatalf("%+v\n%s", result, r.log)
			}
			src := filepath.Join(b.opts.WorkRoot, "team", r.spec.Stack.Name, "src")
			now, err := os.ReadFile(filepath.Join(src, workspace.LockFileTF))
			if _, linked := os.Lstat(filepath.Join(src, workspace.ProvidersTF, "registry.example.com/yuba/dummy", c.version)); err != nil || linked != nil || !strings.Contains(string(now), `"`+c.version+`"`) {
				t.Errorf("%v, %v, the lock file is\n%s", err, linked, now)
			}
			if len(r.spec.Files) > 0 && result.LockFile != nil {
				t.Errorf("the server is to keep\n%s", result.LockFile)
			}
			if len(r.spec.Files) > 0 && r.spec.Upgrade != strings.Contains(string(r.log), "also where the mapped") {
				t.Errorf("the log says\n%s", r.log)
			}
			next := r.again(run.OperationPlan)
			next.spec.Upgrade = false
			if result.LockFile != nil {
				next.spec.LockFile = result.LockFile
			}
			if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.do(next))); diff != "" {
				t.Errorf("second run: %s", diff)
			}
		})
	}
}

// withLock packs the program with a lock file.
func withLock(r *fakeRun, version string) ([]byte, run.Artifact) {
	files := program(needsProvider)
	files[workspace.LockFileTF] = "provider \"registry.example.com/yuba/dummy\" {\n  version = \"" + version + "\"\n}\n"
	var packed bytes.Buffer
	digest, err := archive.PackInline(files, &packed)
	if err != nil {
		panic(err)
	}
	return packed.Bytes(), run.Artifact{Digest: digest, Revision: r.spec.Artifact.Revision, Size: int64(packed.Len())}
}
