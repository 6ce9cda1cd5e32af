// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// poisoner is a program whose apply changes its own module and hides the change: the file keeps
// length and times.
const poisoner = `
resource "terraform_data" "poisoner" {
  provisioner "local-exec" {
    command = <<-EOT
      cd .terraform/modules/base/inner && touch -r main.tf stamp
      printf '%s' "$(sed 's/"a" {}/"evil" { }/' main.tf)" | cut -b1-$(stat -c %s main.tf) > new && cat new > main.tf
      touch -r stamp main.tf && rm stamp new
      grep -q evil main.tf && echo POISONED
    EOT
  }
}
`

// calling makes a run of a stack that keeps its modules.
func (b *moduleBench) calling(name string, operation run.Operation, text string) *fakeRun {
	return b.trusting(b.stack(name, operation, program(text+call("base", b.gitSource(b.commit), ""))))
}

// Nobody reviewed modules that a program changed, and later runs, also of other revisions, would
// apply them.
func TestAModuleThatAProgramChangedReachesNoLaterRun(t *testing.T) {
	for name, store := range map[string]bool{"from the store": true, "downloaded by init": false} {
		t.Run(name, func(t *testing.T) {
			b := newModuleBench(t)
			if !store {
				b.opts.ProviderStore = ""
			}
			b.start()
			first := b.calling("poisoned", run.OperationPlanAndApply, poisoner)
			b.succeed(first)
			logged(t, first, "POISONED")
			for when, text := range map[string]string{"the same revision": poisoner, "a later revision": "# reviewed\n" + poisoner} {
				later := b.calling("poisoned", run.OperationPlan, text)
				later.state = first.lastState()
				result := b.succeed(later)
				if result.Plan.Changes || strings.Contains(string(later.log), "evil") {
					t.Errorf("%s: %+v\n%s", when, result.Plan, later.log)
				}
			}
		})
	}
}

// Init may start a program for the state's key. The next revision, without that program, must get
// only the providers from it.
func TestAProgramThatInitStartedLeavesTheNextRevisionNoProviders(t *testing.T) {
	b := newBench(t).start()
	files := program(oneThing)
	files["key.sh"] = "#!/bin/sh\n[ -e .terraform/providers/forged/left ] || { mkdir -p .terraform/providers/forged && touch .terraform/providers/forged/left; }\n" + plainKey
	first := b.stack("forger", run.OperationPlan, files)
	first.spec.Env = []run.EnvVar{externalKey(t)}
	b.succeed(first)
	left := filepath.Join(b.opts.WorkRoot, "team", "forger", "src", workspace.DataDirTF, "providers", "forged", "left")
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the program left nothing: %v", err)
	}
	next := b.stack("forger", run.OperationPlan, program(oneThing))
	next.spec.Env = []run.EnvVar{{Name: "TF_REGISTRY_CLIENT_TIMEOUT", Value: "9"}} // else its init starts over in any case
	b.succeed(next)
	if _, err := os.Stat(left); err == nil {
		t.Error("the next revision has it")
	}
}

// The log after a detected change.
func TestWhatInitLeftAndSomebodyChangedIsMadeAnewAndSaid(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	first := b.calling("changed", run.OperationPlan, "")
	b.succeed(first)
	warm := b.succeed(first.again(run.OperationPlan))
	if warm.Init != run.InitUnchanged {
		t.Errorf("a second run: %s", warm.Init)
	}
	left := filepath.Join(b.opts.WorkRoot, "team", "changed", "src", workspace.DataDirTF)
	for what, change := range map[string]func() error{
		"a file in a module": func() error {
			return os.WriteFile(filepath.Join(left, "modules/base/base/more.tf"), []byte(oneThing), 0o600)
		},
		"the list of modules":    func() error { return os.WriteFile(filepath.Join(left, "modules/modules.json"), []byte("{}"), 0o600) },
		"what is known of where": func() error { return os.WriteFile(filepath.Join(left, workspace.StateName), []byte("{}"), 0o600) },
		"all of it":              func() error { return os.Rename(left, left+"2") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		next := first.again(run.OperationPlan)
		result := b.succeed(next)
		planned(t, next, 2)
		if result.Init == run.InitUnchanged {
			t.Errorf("%s: %s\n%s", what, result.Init, next.log)
		}
		if what == "a file in a module" {
			logged(t, next, "Init: starting over, because files of the last init changed: 1 added, 0 changed, 0 removed, such as modules/base/base/more.tf")
		}
	}
}

// A stack that keeps its modules ignores a moved branch, even after a commit of its own.
func TestAStackThatKeepsItsModulesKeepsThemAcrossCommits(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	text := call("base", b.gitSource("main"), "")
	first := b.trusting(b.stack("kept", run.OperationPlan, program(text)))
	b.succeed(first)
	planned(t, first, 2)
	b.repository.Commit(t, "more", gittest.Files{"base/more.tf": strings.ReplaceAll(oneThing, `"a"`, `"more"`)})
	b.succeed(b.calls("other", text)) // puts the new one into the store
	next := b.trusting(b.stack("kept", run.OperationPlan, program("# changed\n"+text)))
	b.succeed(next)
	planned(t, next, 2)
	newer := b.trusting(b.stack("kept", run.OperationPlan, program("# once more\n"+text)))
	newer.spec.Upgrade = true
	b.succeed(newer)
	planned(t, newer, 3)
}

// Files in the home directory could instruct git, ssh and others in later runs.
func TestNothingOfARunIsInTheHomeOfTheNext(t *testing.T) {
	b := newBench(t).start()
	text := `
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "mkdir -p ~/.config/git $TMPDIR/left && for f in ~/.gitconfig ~/.netrc ~/.config/git/config ~/.terraformrc; do echo '[url]' > $f; done && ls -A ~"
  }
}
output "home" { value = join(" ", fileset(pathexpand("~"), "**")) }
output "temp" { value = fileexists("${pathexpand("~")}/../tmp") }
`
	first := b.stack("home", run.OperationPlanAndApply, program(text))
	b.succeed(first)
	logged(t, first, ".gitconfig")
	if entries, err := os.ReadDir(filepath.Join(b.opts.WorkRoot, "team", "home", workspace.HomeDir)); err == nil && len(entries) > 0 {
		t.Errorf("between the runs there is %v", entries)
	}
	second := b.stack("home", run.OperationPlanAndApply, program("# later\n"+text))
	second.state = first.lastState()
	second.spec.Files = []run.File{{Location: run.FileInHome, Path: ".mine", Content: []byte("x")}}
	second.spec.ReadOutputs = true
	b.succeed(second)
	if state := string(second.lastState()); !strings.Contains(state, `"value":".mine"`) && !strings.Contains(state, `"value": ".mine"`) {
		t.Errorf("a later run sees %s", state)
	}
}

// planMakes makes plans of runs with MAKES=1 create files, as archive data sources do.
func (b *bench) planMakes(script string) {
	b.t.Helper()
	wrapper := filepath.Join(b.t.TempDir(), "tofu")
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1$MAKES\" = plan1 ] && { %s; }\nexec %s \"$@\"\n", script, tofutest.Tofu(b.t))
	if err := os.WriteFile(wrapper, []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.opts.Tofu = wrapper
}

// An archive that planning made is there for the apply, perhaps days later, and is removed
// afterwards.
func TestWhatAPlanMadeStaysForItsApply(t *testing.T) {
	const text = `
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "cat build/code.zip; ls -a . build"
  }
}
`
	made := "mkdir -p build && echo ZIPPED > build/code.zip && echo 'resource \"terraform_data\" \"evil\" {}' > evil.tf && echo x > .tofurc"
	for name, c := range map[string]struct {
		between func(dir string) error
		works   bool
	}{
		"as it was": {func(string) error { return nil }, true},
		"changed by somebody": {func(dir string) error {
			was := time.Now().Add(-time.Hour)
			at := filepath.Join(dir, "build/code.zip")
			if err := os.WriteFile(at, []byte("HACKED"), 0o644); err != nil {
				return err
			}
			return os.Chtimes(at, was, was)
		}, false},
		"removed by somebody": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "build")) }, false},
		"something is added":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, "build/surplus"), nil, 0o600) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).unconfined() // else the wrapper could not start the tool
			b.planMakes(made)
			b.start()
			first := b.stack("made", run.OperationPlan, program(text))
			first.spec.Env = []run.EnvVar{{Name: "MAKES", Value: "1"}}
			planned := b.succeed(first)
			src := filepath.Join(b.opts.WorkRoot, "team", "made", "src")
			if err := c.between(src); err != nil {
				t.Fatal(err)
			}
			apply := first.again(run.OperationApply)
			apply.plan, apply.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
			result := b.do(apply)
			if (result.Outcome == run.OutcomeSucceeded) != c.works || strings.Contains(string(apply.log), "ZIPPED") != c.works {
				t.Errorf("%s: %s\n%s", result.Outcome, result.Error, apply.log)
			}
			for _, other := range []string{"HACKED", "evil.tf", ".tofurc", "surplus"} {
				if strings.Contains(string(apply.log), other) {
					t.Errorf("%s was there:\n%s", other, apply.log)
				}
			}
			next := apply.again(run.OperationPlan)
			next.spec.Env = nil
			b.succeed(next)
			for _, name := range []string{"build", "evil.tf", ".tofurc"} {
				if _, err := os.Lstat(filepath.Join(src, name)); err == nil {
					t.Errorf("%s is there after the next run", name)
				}
			}
		})
	}
}
