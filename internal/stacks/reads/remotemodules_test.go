// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const fromElsewhere = "module \"far\" {\n  source = \"git::https://example.com/far.git?ref=main\"\n}\n"

// calling is the configuration of the stack in stacks/a that calls a remote module.
func calling(t *testing.T, obj *infrav1.Terraform, files map[string]string, archive string) *Configuration {
	t.Helper()
	files["stacks/a/far.tf"] = fromElsewhere
	c := &Configuration{variables: map[string]run.Variable{}, program: &Program{artifact: run.Artifact{Digest: archive},
		readModule: &readModule{module: &module.Module{}, part: partOf(t, files)}}}
	if err := c.setPart(obj, nil); err != nil {
		t.Fatal(err)
	}
	c.Digest = c.sum(obj)
	if c.part.digest != "" {
		c.Whole = c.sumWith(obj, archive)
	}
	c.Settle(obj)
	return c
}

// plannedWith is the record of a run that planned a configuration without changes.
func plannedWith(c *Configuration, found *run.Modules) run.Record {
	return run.Record{Config: c.Digest, WholeConfig: c.Whole, SettledConfig: c.Settled,
		Result: &run.Result{Outcome: run.OutcomeSucceeded, Finished: finished, Plan: &run.PlanResult{}, Modules: found}}
}

func TestACommitBesideAModuleFromElsewhereCountsUntilItIsSettled(t *testing.T) {
	obj := stackObject()
	beside := withFile("stacks/b/main.tf", "# changed")
	first := calling(t, obj, aTree(), "sha256:one")
	if second := calling(t, obj, beside, "sha256:two"); first.Digest == second.Digest || first.part.digest != "" || first.Settled != second.Settled || first.Settled == first.Digest {
		t.Fatalf("%+v, %+v", first.part, second.part)
	}
	if want := "remote module.far at stacks/a/far.tf:1"; first.Reading() != want {
		t.Errorf("%q is read", first.Reading())
	}
	record(obj, plannedWith(first, &run.Modules{World: []string{"data.http.ip"}}))
	then, after := calling(t, obj, aTree(), "sha256:one"), calling(t, obj, beside, "sha256:two")
	if then.Digest != obj.Status.ConfigDigest || after.Digest != obj.Status.ConfigDigest || after.part.loose || after.Reading() != "data.http.ip" {
		t.Errorf("planned %s, then %+v, after the commit %+v", obj.Status.ConfigDigest, then, after)
	}
	var s run.Spec
	after.Into(&s)
	if s.Part == nil || !slices.Equal(s.Part.Paths, []string{"modules/m", "stacks/a"}) {
		t.Errorf("%+v", s.Part)
	}
	for sentence, files := range map[string]map[string]string{"its own file": withFile("stacks/a/more.tf", ""), "its module's": withFile("modules/m/t.txt", "other")} {
		if c := calling(t, obj, files, "sha256:three"); c.Digest == obj.Status.ConfigDigest || c.part.digest != "" {
			t.Errorf("%s changes nothing: %+v", sentence, c)
		}
	}
	// The target of calls is not in the source.
	other := calling(t, obj, aTree(), "sha256:one")
	other.cliConfig, other.part.digest = []byte("host \"registry.opentofu.org\" {}"), other.part.unsettled
	if why := unsettled(obj, obj.Status.Modules, other.sum(obj)); why == "" {
		t.Error("modules of another registry are known")
	}
}

func TestModulesThatAreNotSettled(t *testing.T) {
	for sentence, test := range map[string]struct {
		found   *run.Modules
		change  func(*infrav1.Terraform)
		settled bool
		why     string
	}{
		"fixed":                       {&run.Modules{}, nil, true, ""},
		"left to init":                {nil, nil, false, `stacks/a/far.tf:1: the module "far" is not in the source: no plan of this configuration took it from the module cache`},
		"they read files":             {&run.Modules{Whole: ".terraform/modules/far/main.tf:1: path.cwd is not a path inside of the source"}, nil, false, `not in the source: .terraform/modules/far/main.tf:1: path.cwd is not a path`},
		"one follows a branch":        {&run.Modules{Moves: "far.inner"}, nil, false, "far.inner is not pinned to a commit or version"},
		"one that stays where it was": {&run.Modules{Moves: "far"}, func(o *infrav1.Terraform) { o.Spec.UpgradeOnInit = ptr.To(false) }, true, ""},
		"one that stays, but reads":   {&run.Modules{Moves: "far", Whole: "x"}, func(o *infrav1.Terraform) { o.Spec.UpgradeOnInit = ptr.To(false) }, false, "not in the source: x"},
	} {
		obj := stackObject()
		if test.change != nil {
			test.change(obj)
		}
		first := calling(t, obj, aTree(), "sha256:one")
		record(obj, plannedWith(first, test.found))
		c := calling(t, obj, aTree(), "sha256:one")
		if c.Digest != obj.Status.ConfigDigest {
			t.Errorf("%s: planned again at once", sentence)
		}
		after := calling(t, obj, withFile("README.md", "other"), "sha256:two")
		if (after.Digest == obj.Status.ConfigDigest) != test.settled || !strings.Contains(after.part.why, test.why) || (after.part.why == "") != test.settled {
			t.Errorf("%s: after a commit beside it %+v", sentence, after.part)
		}
		var s run.Spec
		if after.Into(&s); (s.Part != nil) != (test.settled && test.found.Moves == "") {
			t.Errorf("%s: runs get %+v", sentence, s.Part)
		}
	}
}

// If a stack is in order, a commit beside modules of a branch is planned only if these moved.
func TestACommitBesideModulesThatMayMove(t *testing.T) {
	obj := stackObject()
	record(obj, plannedWith(calling(t, obj, aTree(), "sha256:one"), &run.Modules{Moves: "far", Placed: "p"}))
	after := calling(t, obj, withFile("README.md", "other"), "sha256:two")
	if after.Digest == obj.Status.ConfigDigest || !after.OnlyModules(obj) {
		t.Fatalf("a commit beside them: %+v", obj.Status)
	}
	if calling(t, obj, withFile("stacks/a/more.tf", ""), "sha256:two").OnlyModules(obj) {
		t.Error("a file of its own is nothing")
	}
	for sentence, change := range map[string]func(*infrav1.Terraform){
		"they read other files":       func(o *infrav1.Terraform) { o.Status.Modules.Whole = "x" },
		"where they led is not known": func(o *infrav1.Terraform) { o.Status.Modules.Placed = "" },
		"they stay where they are":    func(o *infrav1.Terraform) { o.Status.Modules.Moves = "" },
		"nothing is known":            func(o *infrav1.Terraform) { o.Status.Modules = nil },
		"its last run failed": func(o *infrav1.Terraform) {
			setReady(o, metav1.ConditionFalse, infrav1.ReasonDependencyNotReady)
			o.Status.LastRun.Status = string(run.OutcomeFailed)
		},
		"the stack is not in order":       func(o *infrav1.Terraform) { setReady(o, metav1.ConditionFalse, infrav1.ReasonApplyFailed) },
		"what became of it was not told ": func(o *infrav1.Terraform) { setReady(o, metav1.ConditionUnknown, infrav1.ReasonProgressing) },
	} {
		other := obj.DeepCopy()
		if change(other); after.OnlyModules(other) {
			t.Errorf("%s, and it is not planned", sentence)
		}
	}

	waits := obj.DeepCopy()
	setReady(waits, metav1.ConditionFalse, infrav1.ReasonDependencyNotReady)
	if !after.OnlyModules(waits) {
		t.Error("a stack that waited for its dependency is planned")
	}
}

// A saved plan has the modules of its plan, even if names lead elsewhere later.
func TestAnApplyTeachesNoOtherModulesThanItsPlan(t *testing.T) {
	for placed, want := range map[string]string{"p": "p", "q": ""} {
		obj := stackObject()
		first := calling(t, obj, aTree(), "sha256:one")
		record(obj, plannedWith(first, &run.Modules{Moves: "far", Placed: "p"}))
		rec := plannedWith(first, &run.Modules{Moves: "far", Placed: placed})
		rec.Spec.Operation = run.OperationApply
		LearnModules(obj, rec)
		if got := obj.Status.Modules.Placed; got != want {
			t.Errorf("applied with %s: %q is known, want %q", placed, got, want)
		}
	}
}

func TestWhatIsLearnedOfModules(t *testing.T) {
	known := func(moves string) *infrav1.ModulesStatus {
		return &infrav1.ModulesStatus{ConfigDigest: "settled", Moves: moves}
	}
	long := strings.Repeat("x", 2*maxModulesText)
	for sentence, test := range map[string]struct {
		had, want *infrav1.ModulesStatus
		rec       run.Record
		digest    string
	}{
		"a program without any":               {had: known(""), rec: run.Record{Config: "whole", Result: &run.Result{}}, digest: "whole"},
		"the inputs of the last apply":        {had: known(""), want: known(""), rec: run.Record{Config: "whole", UsedKept: true, Result: &run.Result{}}, digest: "whole"},
		"settled ones":                        {want: known(""), rec: run.Record{Config: "whole", SettledConfig: "settled", Result: &run.Result{Modules: &run.Modules{}}}, digest: "settled"},
		"settled ones, left to init later":    {had: known(""), want: known(""), rec: run.Record{Config: "settled", SettledConfig: "settled", Result: &run.Result{}}, digest: "settled"},
		"ones that moved, left to init later": {had: known("m"), rec: run.Record{Config: "settled", SettledConfig: "settled", Result: &run.Result{}}, digest: "settled"},
		"those of another program":            {had: &infrav1.ModulesStatus{ConfigDigest: "other"}, rec: run.Record{Config: "whole", SettledConfig: "settled", Result: &run.Result{}}, digest: "whole"},
		"ones that move":                      {want: known("m"), rec: run.Record{Config: "whole", SettledConfig: "settled", Result: &run.Result{Modules: &run.Modules{Moves: "m"}}}, digest: "whole"},
		"a long story": {want: &infrav1.ModulesStatus{ConfigDigest: "settled", Whole: long[:maxModulesText] + "…", World: slices.Repeat([]string{long[:maxModulesText] + "…"}, maxModulesWorld)},
			rec: run.Record{Config: "whole", SettledConfig: "settled", Result: &run.Result{Modules: &run.Modules{Whole: long, World: slices.Repeat([]string{long}, 20)}}}, digest: "whole"},
	} {
		obj := stackObject()
		obj.Status.Modules, obj.Status.ConfigDigest = test.had, test.rec.Config
		LearnModules(obj, test.rec)
		if diff := cmp.Diff(test.want, obj.Status.Modules); diff != "" || obj.Status.ConfigDigest != test.digest {
			t.Errorf("%s: %s, (-want +got):\n%s", sentence, obj.Status.ConfigDigest, diff)
		}
	}
}
