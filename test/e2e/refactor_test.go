// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

const (
	monolith = `
variable "token" { default = "t" }
resource "terraform_data" "net" { input = "10.0.0.0/16" }
resource "terraform_data" "disk" { input = "large" }
resource "terraform_data" "server" {
  input            = terraform_data.disk.output
  triggers_replace = [terraform_data.net.id]
}
`
	onlyNet = `
variable "token" { default = "t" }
resource "terraform_data" "net" { input = "10.0.0.0/16" }
output "net" { value = terraform_data.net.id }
`
	onlyDatabase = `
variable "net" {}
resource "terraform_data" "storage" { input = "large" }
resource "terraform_data" "server" {
  input            = terraform_data.storage.output
  triggers_replace = [var.net]
}
`
	split = `
move {
  stack    = "monolith"
  from     = terraform_data.disk
  to_stack = "db"
  to       = terraform_data.storage
}
move {
  stack    = "monolith"
  from     = [terraform_data.server]
  to_stack = "db"
}
`
)

// file writes a file for a command.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "refactor.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pausedWith suspends a stack and gives it another program.
func pausedWith(hcl string) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) {
		obj.Spec.Suspend, obj.Spec.Inline = true, map[string]string{"main.tf": hcl}
	}
}

// netOf is the id of the network in the state of the monolith.
func (y *yuba) netOf(t *testing.T, obj *infrav1.Terraform) string {
	t.Helper()
	out, _ := y.do(t, "state", "pull", name(obj))
	found := regexp.MustCompile(`"name": "net"(?s:.*?)"id": "([^"]+)"`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no network in %s", out)
	}
	return found[1]
}

// TestAStackIsSplitIntoTwo: real tofu plans no changes on both sides, before the states change and
// afterwards, and on the way back.
func TestAStackIsSplitIntoTwo(t *testing.T) {
	y, ns := common(t)
	mono := y.applied(t, ns, "monolith", monolith)
	net := y.netOf(t, mono)
	change(t, y, mono, pausedWith(onlyNet))
	db := inline(ns, "db", onlyDatabase, auto, suspended, func(obj *infrav1.Terraform) {
		obj.Spec.Vars = []infrav1.Variable{{Name: "net", Value: raw(`"` + net + `"`)}}
	})
	y.create(t, db)
	f := file(t, split)

	out, news, code := y.run(t, "refactor", f, "-n", ns)
	if code != 0 || !strings.Contains(out, "monolith: terraform_data.disk -> db: terraform_data.storage") || !strings.Contains(news, "Every plan is as the file says") {
		t.Fatalf("the preview ended with %d:\n%s%s", code, out, news)
	}
	if got := y.listed(t, mono); got != "disk net server" {
		t.Fatalf("the preview changed the state: %s", got)
	}
	id := y.refactored(t, ns, "refactor", "apply", f)
	if got, other := y.listed(t, mono), y.listed(t, db); got != "net" || other != "server storage" {
		t.Fatalf("the monolith has %s, the database %s", got, other)
	}
	// The stacks go on by themselves, and nothing in the world changes.
	for _, obj := range []*infrav1.Terraform{mono, db} {
		y.do(t, "resume", name(obj))
		y.await(t, obj, "it is ready with its new state", func(o *infrav1.Terraform) bool { return ready(o) && !o.Spec.Suspend })
	}
	if got := y.netOf(t, mono); got != net {
		t.Errorf("the network is %s, and was %s", got, net)
	}
	if out, _ := y.do(t, "state", "history", name(db)); !strings.Contains(out, id) {
		t.Errorf("the history does not name the refactoring:\n%s", out)
	}

	change(t, y, mono, pausedWith(monolith))
	change(t, y, db, pausedWith(`variable "net" {}`))
	if out, _, code := y.run(t, "refactor", "undo", id, "-n", ns, "--yes"); code != 1 || !strings.Contains(out, "would remove the output net") {
		t.Errorf("an undo that removes an output ended with %d: %s", code, out)
	}
	undo := y.refactored(t, ns, "refactor", "undo", id, "--expect", file(t, "expect {\n  stack = \"monolith\"\n  outputs = [\"net\"]\n}"))
	if got, other := y.listed(t, mono), y.listed(t, db); got != "disk net server" || other != "" {
		t.Errorf("after the undo the monolith has %s, the database %q", got, other)
	}
	if out, _ := y.do(t, "refactor", "list", "-n", ns); !strings.Contains(out, undo) || !strings.Contains(out, "undone") {
		t.Errorf("listed:\n%s", out)
	}
	if _, news, code := y.run(t, "refactor", "undo", id, "-n", ns, "--yes"); code == 0 || !strings.Contains(news, "has undone it already") {
		t.Errorf("a second undo ended with %d: %s", code, news)
	}
}

// refactored applies a refactoring and returns its id.
func (y *yuba) refactored(t *testing.T, ns string, args ...string) string {
	t.Helper()
	out, news, code := y.run(t, append(args, "-n", ns, "--yes", "-o", "json")...)
	var answer struct {
		Ready       bool
		Refactoring struct{ ID, Phase, AppliedBy string }
	}
	if err := json.Unmarshal([]byte(out), &answer); code != 0 || err != nil || !answer.Ready || answer.Refactoring.Phase != "applied" || answer.Refactoring.AppliedBy == "" {
		t.Fatalf("%q ended with %d, %v:\n%s%s", args, code, err, out, news)
	}
	return answer.Refactoring.ID
}

// TestRefactoringsThatAreNotApplied: each is refused with its reason, and no state changes.
func TestRefactoringsThatAreNotApplied(t *testing.T) {
	y, ns := common(t)
	mono := y.applied(t, ns, "monolith", monolith)
	change(t, y, mono, suspended)
	y.create(t, inline(ns, "db", onlyDatabase, suspended, func(obj *infrav1.Terraform) {
		obj.Spec.Vars = []infrav1.Variable{{Name: "net", Value: raw(`"other"`)}}
	}))
	y.create(t, inline(ns, "own", "", suspended, func(obj *infrav1.Terraform) {
		obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: "backend \"local\" {}\n"}
	}))
	const head = "move {\n  stack = \"monolith\"\n  to_stack = "
	for what, c := range map[string]struct {
		text, want string
		code       int
	}{
		"programs that still have the old resources": {split, "monolith: the plan would create terraform_data.disk", 1},
		"an input that replaces a resource":          {split, "db: the plan would replace terraform_data.server", 1},
		"an address that is not there":               {head + "\"db\"\n  from = terraform_data.dsik\n}", "nothing is at terraform_data.dsik; did you mean terraform_data.disk?", 1},
		"a resource named twice":                     {split + head + "\"db\"\n  from = terraform_data.disk\n}", "an earlier step moved it to terraform_data.storage of db", 1},
		"a cycle":                                    {"move {\n stack = \"monolith\"\n from = terraform_data.net\n to = terraform_data.disk\n}\nmove {\n stack = \"monolith\"\n from = terraform_data.disk\n to = terraform_data.net\n}", "exists already", 1},
		"a stack that does not exist":                {head + "\"nobody\"\n  from = terraform_data.disk\n}", "does not exist. Create it first, suspended", 3},
		"a state in a backend of its own":            {head + "\"own\"\n  from = terraform_data.disk\n}", "keeps its state in a custom backend", 1},
		"a file that is not HCL":                     {"move {", "line 1", 2},
	} {
		out, news, code := y.run(t, "refactor", "apply", file(t, c.text), "-n", ns, "--yes")
		if code != c.code || !strings.Contains(out+news, c.want) {
			t.Errorf("%s ended with %d, want %d and %q:\n%s%s", what, code, c.code, c.want, out, news)
		}
	}
	if got := y.listed(t, mono); got != "disk net server" {
		t.Errorf("the state has %s", got)
	}
}

// TestAFileOfTfmigrate: its directories are those of stacks.
func TestAFileOfTfmigrate(t *testing.T) {
	y, ns := common(t)
	mono := y.applied(t, ns, "monolith", twoNamed)
	change(t, y, mono, pausedWith(`variable "one" { default = "one" }
resource "terraform_data" "a" { input = var.one }`))
	other := inline(ns, "other", `resource "terraform_data" "c" { input = "two" }`, suspended)
	y.create(t, other)
	f := file(t, "migration \"multi_state\" \"x\" {\n  from_dir = \"live/mono\"\n  to_dir = \"live/other\"\n  actions = [\"mv terraform_data.b 'terraform_data.c'\"]\n}\n")
	if _, news, code := y.run(t, "refactor", f, "-n", ns); code != 3 || !strings.Contains(news, "--stack live/mono=STACK") {
		t.Errorf("without the stacks it ended with %d: %s", code, news)
	}
	y.refactored(t, ns, "refactor", "apply", f, "--stack", "live/mono=monolith,live/other=other")
	if got := y.listed(t, mono) + "|" + y.listed(t, other); got != "a|c" {
		t.Errorf("the states have %s", got)
	}
}

// TestOnlyWhatWasPreviewedIsApplied: the server itself refuses a refactoring whose plans it does not know,
// whatever a client claims.
func TestOnlyWhatWasPreviewedIsApplied(t *testing.T) {
	y, ns := common(t)
	mono := y.applied(t, ns, "monolith", twoNamed)
	change(t, y, mono, pausedWith("variable \"one\" { default = \"one\" }\nresource \"terraform_data\" \"a\" { input = var.one }\n"))
	y.create(t, inline(ns, "other", `resource "terraform_data" "b" { input = "two" }`, auto, suspended))
	f := file(t, "move {\n  stack = \"monolith\"\n  to_stack = \"other\"\n  from = terraform_data.b\n}\n")
	c := y.content(t)
	proposed, err := c.ProposeRefactoring(t.Context(), ns, content.Refactoring{Steps: []moves.Step{{Verb: moves.Move, State: "monolith", From: "terraform_data.b", ToState: "other", To: "terraform_data.b"}}})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(id string, accepted content.Acceptance, want string) {
		t.Helper()
		if _, err := c.ApplyRefactoring(t.Context(), ns, id, accepted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %q", err, want)
		}
	}
	refused(proposed.ID, content.Acceptance{Plans: map[string]string{"monolith": "invented", "other": "invented"}}, "was not previewed")

	out, news, code := y.run(t, "refactor", f, "-n", ns, "-o", "json")
	var answer struct{ Refactoring struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 {
		t.Fatalf("the preview ended with %d, %v:\n%s%s", code, err, out, news)
	}
	refused(answer.Refactoring.ID, content.Acceptance{Plans: map[string]string{"monolith": "invented"}}, "a later preview than the one that was accepted")
	if got := y.listed(t, mono); got != "a b" {
		t.Fatalf("a refused refactoring changed the state: %s", got)
	}
	if _, err := c.ApplyRefactoring(t.Context(), ns, answer.Refactoring.ID, content.Acceptance{}); err != nil {
		t.Fatalf("what the command has previewed, without changes: %v", err)
	}
	if got := y.listed(t, mono); got != "a" {
		t.Errorf("the state has %s", got)
	}
	out, news, code = y.run(t, "refactor", "undo", answer.Refactoring.ID, "-n", ns, "--without-preview", "--yes")
	if got := y.listed(t, mono); code != 0 || got != "a b" || !strings.Contains(news, "No plan was made") {
		t.Errorf("without a preview, it ended with %d, and the state has %s:\n%s%s", code, got, out, news)
	}
}
