// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// elsewhere is a platform that no runner has.
const elsewhere = "plan9_riscv64"

func lockFor(platforms ...string) run.StateChange {
	return run.StateChange{Verb: run.StateProvidersLock, Args: platforms, Preview: true}
}

// everywhere publishes a release with different programs for this platform and another one.
func everywhere(r *registrytest.Registry, t *testing.T, version string) {
	t.Helper()
	here := runtime.GOOS + "_" + runtime.GOARCH
	r.PublishRelease(thing, version, registrytest.Release{Archives: map[string][]byte{
		here:      registrytest.Zip(t, registrytest.Program("thing", version)),
		elsewhere: registrytest.Zip(t, map[string][]byte{"terraform-provider-thing_v" + version: []byte("another program\n")}),
	}})
}

// hashesOf counts the hashes of contents, which the tool has for packages that it downloaded.
func hashesOf(t *testing.T, text, name string) (contents int, version string) {
	t.Helper()
	lock, err := providers.ParseLockFile([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, l := range lock.Locks {
		if l.Address.String() != name {
			continue
		}
		for _, hash := range l.Hashes {
			if strings.HasPrefix(hash, "h1:") {
				contents++
			}
		}
		return contents, l.Version
	}
	t.Fatalf("%s is not in\n%s", name, text)
	return 0, ""
}

// The lock file for other platforms comes through the server, from its mirror and its own registry. The stack keeps its own.
func TestTheLockFileForOtherPlatforms(t *testing.T) {
	for sentence, test := range map[string]struct {
		source, name string
		change       func(*fakeRun)
	}{
		"of the mirror":          {thing, "registry.opentofu.org/" + thing, func(*fakeRun) {}},
		"of the registry itself": {ownHost + "/" + thing, ownHost + "/" + thing, func(*fakeRun) {}},
		"with a locked version in the source": {thing, "registry.opentofu.org/" + thing, func(r *fakeRun) {
			r.spec.Files = append(r.spec.Files, run.File{Location: run.FileInModule, Path: ".terraform.lock.hcl",
				Content: []byte("provider \"registry.opentofu.org/" + thing + "\" {\n  version = \"1.2.3\"\n}\n")})
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newRegistryBench(t)
			everywhere(b.registry, t, "1.2.3")
			b.start()
			first := b.plan("team", "locked", b.program(test.source, "~> 1.2"))
			test.change(first)
			b.installed(first)
			before := b.lockFile("locked")
			everywhere(b.registry, t, "1.2.4") // no news for a stack that has a version
			first.spec.Upgrade = false
			lock := first.change(lockFor(elsewhere))
			result := b.succeed(lock)
			if contents, version := hashesOf(t, result.Text, test.name); contents != 2 || version != "1.2.3" {
				t.Errorf("%d hashes of contents for %s:\n%s\n%s", contents, version, result.Text, lock.log)
			}
			if after := b.lockFile("locked"); after != before || len(result.LockFile) > 0 && string(result.LockFile) != before {
				t.Errorf("the stack's own lock file was\n%s\nand is\n%s\nreported: %s", before, after, result.LockFile)
			}
			logged(t, lock, elsewhere)
			unknown := first.change(lockFor("amiga_m68k"))
			if result := b.do(unknown); result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, "amiga_m68k") || b.lockFile("locked") != before {
				t.Errorf("%+v\n%s", result, unknown.log)
			}
		})
	}
}

// A mirror on the machine is asked as init asks it, and has what it has.
func TestTheLockFileFromAMirrorOnTheMachine(t *testing.T) {
	b := newBench(t)
	b.opts.ProviderMirror = mirrorWith(t, "dummy", "1.2.3")
	b.start()
	first := b.stack("mirrored", run.OperationPlan, program(needsProvider))
	if result := b.do(first); result.FailedStep != run.StepPlan { // the program is not a provider
		t.Fatalf("%+v\n%s", result, first.log)
	}
	lock := first.change(lockFor(runtime.GOOS + "_" + runtime.GOARCH))
	if contents, version := hashesOf(t, b.succeed(lock).Text, "registry.example.com/yuba/dummy"); contents != 1 || version != "1.2.3" {
		t.Errorf("%d hashes for %s\n%s", contents, version, lock.log)
	}
	absent := first.change(lockFor(elsewhere))
	if result := b.do(absent); result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, elsewhere) {
		t.Errorf("%+v\n%s", result, absent.log)
	}
	if left, _ := filepath.Glob(filepath.Join(b.opts.ProviderMirror, "*", "*", "*", "*", "*")); len(left) != 1 { //nolint:errcheck // the pattern is valid
		t.Errorf("the mirror has %v", left)
	}
}

// The program has lost a provider that its state still needs: the tool refuses to lock that one, and it stays as it is.
func TestTheLockFileWithAProviderThatOnlyTheStateNeeds(t *testing.T) {
	c := cloud.Start()
	defer c.Close()
	b := newBench(t)
	b.opts.ProviderMirror = mirrorOfTestProvider(t)
	b.start()
	env := []run.EnvVar{{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, {Name: "YUBATEST_TOKEN", Value: c.Token()}}
	first := b.stack("lost", run.OperationPlanAndApply, program(declares+"resource \"yubatest_object\" \"x\" {\n  name = \"x\"\n  content = \"y\"\n}\n"+twoThings))
	first.spec.Env = env
	b.succeed(first)
	second := b.stack("lost", run.OperationPlan, program(twoThings))
	second.spec.Env, second.state, second.spec.LockFile = env, first.lastState(), first.result.LockFile
	b.succeed(second)
	lock := second.change(lockFor(runtime.GOOS + "_" + runtime.GOARCH))
	result := b.succeed(lock)
	if !strings.Contains(result.Text, "/yubatest\"") {
		t.Errorf("the provider of the state is no longer locked:\n%s\n%s", result.Text, lock.log)
	}
	logged(t, lock, "because the program does not need them")
}

func TestNothingToLock(t *testing.T) {
	b := newBench(t).start()
	first := b.appliedStack("plain")
	if result := b.succeed(first.change(lockFor(elsewhere))); result.Text != "" {
		t.Errorf("%+v", result)
	}
}
