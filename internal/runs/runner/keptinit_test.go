// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// declares requires the test provider without using it.
const declares = `
terraform {
  required_providers {
    yubatest = { source = "yuba-dev/yubatest" }
  }
}
`

// buildProvider builds the provider of test/provider once for all tests.
var buildProvider = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "yuba-provider")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "provider")
	build := exec.Command("go", "build", "-C", filepath.Join("..", "..", "..", "test", "provider"), "-buildvcs=false", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the test provider: %w\n%s", err, out)
	}
	return os.ReadFile(program)
})

// mirrorOfTestProvider is a mirror with a working provider.
func mirrorOfTestProvider(t *testing.T) string {
	t.Helper()
	mirror := filepath.Join(t.TempDir(), "providers")
	addProvider(t, mirror, "0.1.0", "")
	return mirror
}

// addProvider adds a version to the mirror; a suffix changes its content but not its behavior.
func addProvider(t *testing.T, mirror, version, more string) {
	t.Helper()
	program, err := buildProvider()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mirror, "registry.opentofu.org", "yuba-dev", "yubatest", version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform-provider-yubatest_v"+version), slices.Concat(program, []byte(more)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// leftByInit returns the files of init by name, and the targets of links.
func (b *bench) leftByInit(name, module string) map[string]string {
	b.t.Helper()
	root := filepath.Join(b.opts.WorkRoot, "team", name, workspace.SourceDir, module)
	out := map[string]string{}
	for _, top := range []string{workspace.DataDirTF, workspace.LockFileTF} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			inside, _ := filepath.Rel(root, path)
			if entry.Type()&fs.ModeSymlink != 0 {
				target, err := os.Readlink(path)
				out[inside] = "-> " + target
				return err
			}
			text, err := os.ReadFile(path)
			out[inside] = string(text)
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

// initCase is a program whose init another stack may reuse.
type initCase struct {
	first, second map[string]string
	path          string
	change        func(b *bench, second *fakeRun)
	// ran is true if init must run for the second stack, too.
	ran bool
	// failed is the step in which the second one fails.
	failed run.Step
}

func initCases() map[string]initCase {
	nested := map[string]string{
		"main.tf":           "module \"a\" { source = \"./modules/a\" }\nmodule \"b\" { source = \"./modules/a\" }\n" + twoThings,
		"modules/a/main.tf": declares + "module \"inner\" { source = \"../b\" }\n", "modules/b/main.tf": "locals { x = 1 }",
	}
	other := maps.Clone(nested)
	other["modules/b/main.tf"] = "locals { x = 2 }\noutput \"x\" { value = local.x }"
	same := func(files map[string]string) initCase { return initCase{first: files, second: files} }
	locked := program(declares)
	locked[workspace.LockFileTF] = "provider \"registry.opentofu.org/yuba-dev/yubatest\" {\n  version = \"0.1.0\"\n}\n"
	override := program(twoThings)
	override["b_override.tf"] = `resource "terraform_data" "a" { input = "other" }`
	inPath := map[string]string{"live/app/main.tf": "module \"s\" { source = \"../../shared\" }", "shared/main.tf": declares}
	return map[string]initCase{
		"built-in resources only":           same(program(twoThings)),
		"another value":                     {first: program(twoThings), second: program(strings.ReplaceAll(twoThings, "input", "triggers_replace"))},
		"nested modules":                    {first: nested, second: other},
		"a module beside the root":          {first: inPath, second: inPath, path: "live/app"},
		"a provider of the mirror":          same(program(declares)),
		"a lock file without hashes":        same(locked),
		"a file in JSON":                    same(map[string]string{"main.tf.json": `{"output": {"o": {"value": 1}}}`}),
		"a .tofu file":                      same(map[string]string{"main.tf": "syntax error {", "main.tofu": twoThings}),
		"an override file":                  same(override),
		"with -upgrade":                     {first: program(declares), second: program(declares), change: func(_ *bench, r *fakeRun) { r.spec.Upgrade = true }},
		"a recorded lock file and -upgrade": {first: program(declares), second: program(declares), ran: true, change: recordedLock},
		"another lock file":                 {first: program(declares), second: locked, ran: true},
		"a provider more":                   {first: program(twoThings), second: program(twoThings + declares), ran: true},
		"a new version in the mirror": {first: program(declares), second: program(declares), ran: true, change: func(b *bench, _ *fakeRun) {
			addProvider(b.t.(*testing.T), b.opts.ProviderMirror, "0.2.0", "")
		}},
		"the same version with other content": {first: program(declares), second: program(declares), ran: true, change: func(b *bench, _ *fakeRun) {
			addProvider(b.t.(*testing.T), b.opts.ProviderMirror, "0.1.0", "more")
		}},
		"settings of init in the environment": {first: program(twoThings), second: program(twoThings), ran: true, change: func(_ *bench, r *fakeRun) {
			r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "TF_CLI_ARGS_init", Value: "-lockfile=readonly"})
		}},
		"a configuration of the stack's own": {first: program(twoThings), second: program(twoThings), ran: true, change: func(_ *bench, r *fakeRun) {
			r.spec.CLIConfig = []byte("disable_checkpoint = true\n")
		}},
		"a version of the tool that is not this one": {first: program(twoThings), second: map[string]string{"main.tofu": twoThings + "terraform {\n  required_version = \"< 1.0\"\n}"}, ran: true, failed: run.StepInit},
		"a mistake": {first: program(twoThings), second: program(twoThings + "output \"o\" { value = }"), ran: true, failed: run.StepInit},
		// Init reads the configuration, too, and reports the error first, so the runner re-runs it.
		"a mistake that only the tool sees": {first: program(twoThings), second: program(twoThings + twoThings), ran: true, failed: run.StepInit},
		"a mistake in what it means":        {first: program(twoThings), second: program(twoThings + "output \"p\" { value = nothing.at_all }"), ran: true, failed: run.StepPlan},
	}
}

func recordedLock(b *bench, r *fakeRun) {
	text, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "first", workspace.SourceDir, workspace.LockFileTF))
	if err != nil {
		b.t.Fatal(err)
	}
	r.spec.LockFile, r.spec.Upgrade = text, true
}

func TestWhatInitWouldLeaveIsPutInPlace(t *testing.T) {
	for name, c := range initCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.opts.ProviderMirror = mirrorOfTestProvider(t)
			b.start()
			first := b.stack("first", run.OperationPlanAndApply, c.first)
			first.spec.Path = c.path
			if result := b.succeed(first); result.Init != run.InitRan {
				t.Fatalf("the first init: %q", result.Init)
			}
			second := b.stack("second", run.OperationPlanAndApply, c.second)
			second.spec.Path = c.path
			if c.change != nil {
				c.change(b, second)
			}
			result := b.do(second)
			want := run.InitReplayed
			if c.ran {
				want = run.InitRan
			}
			if result.Init != want || result.FailedStep != c.failed {
				t.Fatalf("init: %q, failed: %q: %s\n%s", result.Init, result.FailedStep, result.Error, second.log)
			}
			b.compareWithRealInit(t, c, second)
		})
	}
}

// compareWithRealInit executes the second program with a fresh runner.
func (b *bench) compareWithRealInit(t *testing.T, c initCase, second *fakeRun) {
	t.Helper()
	fresh := newBench(t)
	fresh.opts.ProviderMirror = b.opts.ProviderMirror
	fresh.start()
	real := fresh.stack("second", run.OperationPlanAndApply, c.second)
	id := real.spec.ID
	real.spec = second.spec
	real.spec.ID = id
	result := fresh.do(real)
	if result.Init != run.InitRan || result.FailedStep != second.result.FailedStep || result.Class != second.result.Class {
		t.Errorf("with a fresh runner: %+v", result)
	}
	if diff := cmp.Diff(fresh.leftByInit("second", c.path), b.leftByInit("second", c.path)); diff != "" {
		t.Errorf("a real init (-), this one (+):\n%s", diff)
	}
	if diff := cmp.Diff(string(result.LockFile), string(second.result.LockFile)); diff != "" {
		t.Errorf("the lock file in the result:\n%s", diff)
	}
}

// If a plan fails because of a replayed init, init runs, and the cached one is dropped.
func TestInitThatWasLeftOutIsMadeUpFor(t *testing.T) {
	b := newBench(t)
	b.opts.ProviderMirror = mirrorOfTestProvider(t)
	b.start()
	files := program(twoThings)
	b.succeed(b.stack("first", run.OperationPlanAndApply, files))
	broken := program(twoThings + "output \"p\" { value = nothing.at_all }")
	second := b.stack("second", run.OperationPlanAndApply, broken)
	result := b.do(second)
	if result.FailedStep != run.StepPlan || result.Init != run.InitRan {
		t.Fatalf("%+v", result)
	}
	if n := strings.Count(string(second.log), "re-running init and retrying"); n != 1 {
		t.Errorf("the log has %d re-runs of init:\n%s", n, second.log)
	}
	if again := b.do(second.again(run.OperationPlanAndApply)); again.Init != run.InitUnchanged {
		t.Errorf("the next run: %+v", again)
	}
	third := b.succeed(b.stack("third", run.OperationPlanAndApply, files))
	if third.Init != run.InitRan {
		t.Errorf("the dropped init is used again: %q", third.Init)
	}
}

// A process that writes to a directory during init could change other stacks' init: only new
// directories are cached.
func TestOnlyATreeThatWasJustUnpackedTeachesOthers(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("first", run.OperationPlan, program(twoThings))
	first.spec.Env = []run.EnvVar{{Name: "TF_CLI_ARGS", Value: ""}} // not cacheable
	b.succeed(first)
	again := first.again(run.OperationPlan)
	again.spec.Env = nil
	again.spec.Upgrade = true
	if result := b.succeed(again); result.Init != run.InitRan {
		t.Fatalf("init: %q", result.Init)
	}
	if result := b.succeed(b.stack("second", run.OperationPlan, program(twoThings))); result.Init != run.InitRan {
		t.Errorf("init: %q", result.Init)
	}
}

func TestInitIsLeftOutWithProvidersOfTheStore(t *testing.T) {
	b := newStoreBench(t)
	program, err := buildProvider()
	if err != nil {
		t.Fatal(err)
	}
	b.registry.Publish(thing, "1.2.3", map[string][]byte{"terraform-provider-thing_v1.2.3": program})
	b.start()
	text := fmt.Sprintf("terraform {\n  required_providers {\n    thing = { source = %q }\n  }\n}\n%s", b.registry.Source(thing), twoThings)
	var left []map[string]string
	for i, want := range []run.Init{run.InitRan, run.InitReplayed, run.InitReplayed} {
		name := fmt.Sprint("stack", i)
		r := b.firstApply(name, text)
		r.spec.Env = []run.EnvVar{{Name: "SSL_CERT_FILE", Value: b.ca}}
		r.spec.Upgrade = true
		result := b.succeed(r)
		if result.Init != want {
			t.Errorf("%s: init %q, want %q\n%s", name, result.Init, want, r.log)
		}
		left = append(left, b.leftByInit(name, ""))
		if next := b.succeed(r.again(run.OperationPlan)); next.Init == run.InitRan {
			t.Errorf("%s: the next init %q", name, next.Init)
		}
	}
	if diff := cmp.Diff(left[0], left[2]); diff != "" {
		t.Error(diff)
	}
}
