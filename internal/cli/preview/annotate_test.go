// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// example is a survey with a failure, a refusal, a warning and a plan that needs others.
func example() *surveyView {
	one := func(name string, files ...string) surveyed {
		return surveyed{Try: content.Try{Namespace: "t", Name: name, Ended: true, Outcome: run.OutcomeSucceeded}, Path: "./" + name, Files: files}
	}
	failed := one("failed", "failed/main.tf")
	failed.Outcome, failed.Error = run.OutcomeFailed, "Error: Unsupported"
	failed.Problems = diagnostic.List{
		{Severity: diagnostic.Warning, Summary: "Deprecated", File: "main.tf", Line: 1},
		{Severity: diagnostic.Error, Summary: "Unsupported, really: yes", Detail: "100% of it\n::set-output name=x::y", File: "../modules/a/main.tf", Line: 7},
		{Severity: diagnostic.Error, Summary: "Elsewhere", File: ".terraform/modules/x/main.tf", Line: 2},
	}
	broken := one("broken", "broken/a.tf")
	broken.Outcome, broken.Error = run.OutcomeFailed, " the runner is gone\n"
	refused := one("refused", "refused/b.tf")
	refused.Changes, refused.Counts = []string{"-1 x"}, run.Counts{Destroy: 1}
	refused.Policy = &speculative.Verdict{Decision: speculative.VerdictRefused, Findings: []speculative.Finding{
		{Policy: "Policy/safe", Rule: "no-destroy", Address: "x.y", Message: "it is destroyed", Effect: "deny"},
		{Policy: "Policy/safe", Rule: "tags", Message: "no tags", Effect: "warn"}}}
	before := one("before", "before/c.tf")
	before.Outcome, before.Error = run.OutcomeFailed, "refused by its policies"
	before.Policy = &speculative.Verdict{Decision: speculative.VerdictRefused, Message: "no external data"}
	waits := one("waits", "waits/d.tf")
	waits.Outcome, waits.Needs = "", []speculative.Need{{Stack: "t/net", Input: "output id"}}
	fine := one("fine", "fine/e.tf")
	return &surveyView{Stacks: []surveyed{failed, broken, refused, before, waits, fine},
		Skipped: []skipped{{"flux/modules", "it has submodules", []string{"t/prod"}, false}, {"flux/prod", "it follows the branch prod", []string{"t/other"}, true}}, Reached: []reached{{Stack: "t/app", Level: 1, Effect: "runs", Because: []string{"Secret x: y changes"}}}}
}

func TestWorkflowCommands(t *testing.T) {
	want := `::error file=modules/a/main.tf,line=7,title=Unsupported%2C really%3A yes::100%25 of it%0A::set-output name=x::y%0A%0AStack t/failed
::error title=Elsewhere::Stack t/failed
::error title=The plan of t/broken failed::the runner is gone
::error file=refused/b.tf,title=Policy Policy/safe no-destroy::x.y: Policy/safe no-destroy: it is destroyed%0A%0AStack t/refused
::error file=before/c.tf,title=Policies refuse the plan of t/before::no external data
::warning file=failed/main.tf,line=1,title=Deprecated::Stack t/failed
::warning file=refused/b.tf,title=Policy Policy/safe tags::Policy/safe tags: no tags%0A%0AStack t/refused
`
	if diff := cmp.Diff(want, workflowCommands(notesOf(example()))); diff != "" {
		t.Error(diff)
	}
}

func TestAHostileTextStartsNoCommand(t *testing.T) {
	v := example()
	v.Stacks = v.Stacks[:1]
	v.Stacks[0].Problems = diagnostic.List{{Severity: diagnostic.Error, Summary: "x\n::add-mask::y\r::a", Detail: "\r\n::error::z\u202e", File: "a,line=9::b\n::c.tf", Line: 1}}
	out := workflowCommands(notesOf(v))
	if strings.Count(out, "\n") != 1 || strings.ContainsAny(out, "\r\u202e") || strings.Count(strings.SplitN(out, "::", 3)[1], "line=") != 2 {
		t.Errorf("%q", out)
	}
}

func TestCodeQuality(t *testing.T) {
	issues := codeQuality(notesOf(example()))
	if len(issues) != 5 {
		t.Fatalf("%d issues", len(issues))
	}
	first := issues[0]
	if first.Location.Path != "modules/a/main.tf" || first.Location.Lines.Begin != 7 || first.Severity != "major" || len(first.Fingerprint) != 32 || issues[4].Severity != "minor" {
		t.Errorf("%+v", issues)
	}
	again := codeQuality(notesOf(example()))
	seen := map[string]bool{}
	for i := range issues {
		if seen[issues[i].Fingerprint] || issues[i] != again[i] {
			t.Errorf("the fingerprint of %+v", issues[i])
		}
		seen[issues[i].Fingerprint] = true
	}
	if empty, err := json.Marshal(codeQuality(nil)); err != nil || string(empty) != "[]" {
		t.Errorf("no issues: %s, %v", empty, err)
	}
}

func TestTheComment(t *testing.T) {
	v := example()
	if got := v.worst(); got != (worst{failed: 2, refused: 2, unknown: 1}) {
		t.Errorf("worst: %+v", got)
	}
	text := comment.Render(reportOf(v, "yuba-ci:prod", "prod", "0123456789abcdef", "https://ci/1"), comment.Style{Limit: 65536, Details: true, Hidden: true})
	for _, want := range []string{"<!-- yuba-ci:prod -->", "7 stacks: 2 failed, 2 refused by policy", "`t/prod`", "it has submodules", "modules/a/main.tf", "cannot be planned before t/net is applied",
		"no external data", "`t/app`", "https://ci/1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "t/other") {
		t.Error("it has stacks that a merge does not change")
	}
	if strings.Contains(text, "/yuba help") {
		t.Error("it offers commands that nobody reads")
	}
}
