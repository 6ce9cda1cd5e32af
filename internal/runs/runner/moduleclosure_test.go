// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// knows checks a run's report about its modules, apart from the packages.
func knows(t *testing.T, when string, result *run.Result, want *run.Modules) {
	t.Helper()
	got := result.Modules
	if got != nil {
		if got.Placed == "" {
			t.Errorf("%s: nothing is told of the packages", when)
		}
		known := *got
		known.Placed, got = "", &known
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func TestARunTellsWhetherItsModulesCanChange(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	knows(t, "a commit and a version", b.succeed(b.both("s")), &run.Modules{})
	again := b.both("s")
	again.spec.Upgrade = false
	result := b.succeed(again)
	knows(t, "without an init", result, &run.Modules{})
	if result.Init != run.InitUnchanged {
		t.Errorf("init: %s", result.Init)
	}
	// With another variable init runs again, and keeps the modules.
	again = b.both("s")
	again.spec.Upgrade, again.spec.Env = false, append(again.spec.Env, run.EnvVar{Name: "TF_VAR_x", Value: "y"})
	again.spec.Variables = map[string]run.Variable{"x": {Value: []byte(`"y"`)}}
	if result = b.succeed(again); result.Init != run.InitRan {
		t.Errorf("init: %s", result.Init)
	}
	knows(t, "after another init", result, &run.Modules{})

	for ref, name := range map[string]string{"main": "a branch", "v1": "a tag", b.commit[:10]: "a part of a commit"} {
		knows(t, name, b.succeed(b.calls("ref-"+ref, call("far", b.gitSource(ref), ""))), &run.Modules{Moves: "far"})
	}
	knows(t, "a range", b.succeed(b.calls("range", call("net", b.registry.ModuleSource(netModule), "~> 1.0"))), &run.Modules{Moves: "net"})
	outer := b.repository.Commit(t, "outer", gittest.Files{"outer/main.tf": call("inner", b.gitSource("main"), "")})
	source := strings.ReplaceAll(b.gitSource(outer), "//base", "//outer")
	knows(t, "a branch below a commit", b.succeed(b.calls("outer", call("far", source, ""))), &run.Modules{Moves: "far.inner"})
}

func TestARunTellsWhatItsModulesRead(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	const files = "output \"o\" {\n  value = fileexists(\"${path.module}/f.yaml\")\n}\n"
	for name, test := range map[string]struct {
		files gittest.Files
		want  *run.Modules
	}{
		"its-own":     {gittest.Files{"m/main.tf": files, "m/f.yaml": "a: b", "m/README.md": "../x", "f.yaml": "../../../../x"}, &run.Modules{}},
		"harmless":    {gittest.Files{"m/main.tf": oneThing, "m/f.yaml": "../../../../x"}, &run.Modules{}},
		"below-root":  {gittest.Files{"m/main.tf": "output \"o\" {\n  value = fileexists(\"${path.root}/x\")\n}\n"}, &run.Modules{}},
		"the-clock":   {gittest.Files{"m/main.tf": "output \"o\" {\n  value = plantimestamp()\n}\n"}, &run.Modules{World: []string{"plantimestamp() at .terraform/modules/far/m/main.tf:2"}}},
		"template":    {gittest.Files{"m/main.tf": "output \"o\" {\n  value = templatefile(\"${path.module}/t.tftpl\", {})\n}\n", "m/t.tftpl": "${plantimestamp()}"}, &run.Modules{World: []string{"the template .terraform/modules/far/m/t.tftpl"}}},
		"beside-root": {gittest.Files{"m/main.tf": "output \"o\" {\n  value = fileexists(\"${path.root}/../x\")\n}\n"}, &run.Modules{Whole: ".terraform/modules/far/m/main.tf:2: the file that fileexists() reads cannot be determined"}},
		"by-document": {gittest.Files{"m/main.tf": files, "m/f.yaml": "base: ../../../../x"}, &run.Modules{Whole: ".terraform/modules/far/m/f.yaml may refer to other files"}},
		"by-template": {gittest.Files{"m/main.tf": "output \"o\" {\n  value = templatefile(\"${path.module}/t.tftpl\", {})\n}\n", "m/t.tftpl": "${fileexists(\"x\")}"}, &run.Modules{Whole: "the template .terraform/modules/far/m/t.tftpl may read any file, or cannot be read"}},
		"deeper":      {gittest.Files{"m/main.tf": call("n", "../n", ""), "n/main.tf": "locals {\n  a = path.cwd\n}\n"}, &run.Modules{Whole: ".terraform/modules/far/n/main.tf:2: path.cwd is not a path inside of the source"}},
	} {
		repository := b.git.Repository(t, name)
		source := "git::" + repository.URL() + "//m?ref=" + repository.Commit(t, "first", test.files)
		knows(t, name, b.succeed(b.calls(name, call("far", source, ""))), test.want)
	}
	// A file behind a link is not where it seems to be.
	repository := b.git.Repository(t, "linked")
	repository.Commit(t, "first", gittest.Files{"m/main.tf": oneThing})
	if err := os.Symlink("../../../../main.tf", filepath.Join(repository.Tree(), "l")); err != nil {
		t.Fatal(err)
	}
	source := "git::" + repository.URL() + "//m?ref=" + repository.Commit(t, "second", gittest.Files{"m/more.tf": ""})
	knows(t, "a link", b.succeed(b.calls("linked", call("far", source, ""))), &run.Modules{Whole: ".terraform/modules/far/l is a link"})
}

// A run that plans only if modules changed resolves them, and starts no tool if they did not.
func TestARunEndsEarlyWhenItsModulesHaveNotMoved(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	calls := []string{call("far", b.gitSource("main"), ""), call("net", b.registry.ModuleSource(netModule), "~> 1.0")}
	planned := b.succeed(b.calls("s", calls...))
	placed := planned.Modules.Placed
	look := func(readme string) *fakeRun {
		r := b.trusting(b.stack("s", run.OperationPlan, map[string]string{"main.tf": strings.Join(calls, ""), "README.md": readme}))
		r.spec.Upgrade, r.spec.Unless = true, placed
		return r
	}
	same := look("one")
	if result := b.succeed(same); !result.SameModules || result.Plan != nil || result.Init != "" || len(result.Steps) == 0 {
		t.Errorf("nothing has moved: %+v", result)
	}
	logged(t, same, "the same as with the last plan")

	// The next run that plans can use the result of such a run.
	next := b.calls("s", calls...)
	next.spec.Upgrade = false
	if result := b.succeed(next); result.Plan == nil || result.Modules == nil || result.Modules.Placed != placed {
		t.Errorf("a drift check after it: %+v", result)
	}
	b.repository.Commit(t, "second", gittest.Files{"README.md": "A commit beside the module is another package all the same."})
	if result := b.succeed(look("two")); result.SameModules || result.Plan == nil || result.Modules.Placed == placed {
		t.Errorf("a branch moved: %+v", result)
	}
	// A run that destroys never ends like this.
	destroys := look("one")
	destroys.spec.Destroy = true
	if result := b.succeed(destroys); result.SameModules || result.Plan == nil {
		t.Errorf("a run that destroys: %+v", result)
	}
	placed = ""
	if result := b.succeed(look("three")); result.SameModules || result.Plan == nil {
		t.Errorf("a run that plans in any case: %+v", result)
	}
}

// The runner has not examined modules that init got.
func TestModulesThatInitGetsAreNotKnown(t *testing.T) {
	b := newModuleBench(t)
	b.start()
	knows(t, "no modules", b.succeed(b.calls("none", oneThing)), nil)
	plain := b.both("plain")
	plain.spec.Env = append(plain.spec.Env, run.EnvVar{Name: "XDG_CONFIG_HOME", Value: "/nowhere"})
	knows(t, "without the store", b.succeed(plain), nil)
	computed := b.calls("computed", call("net", b.registry.ModuleSource(netModule), "1.2.3"),
		"variable \"ref\" {\n  default = \"v1\"\n}\nmodule \"base\" {\n  source = \"git::"+b.repository.URL()+"//base?ref=${var.ref}\"\n}\n")
	knows(t, "one of two", b.succeed(computed), nil)
}
