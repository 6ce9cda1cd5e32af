// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func texts(files map[string]string) discover.Tree {
	t := discover.Tree{Sums: files, Config: func(dir string) map[string][]byte {
		found := map[string][]byte{}
		for name, content := range files {
			if path.Dir(name) == dir {
				found[path.Base(name)] = []byte(content)
			}
		}
		return found
	}}
	return t
}

func TestAdmit(t *testing.T) {
	const plain, external, stranger = `resource "terraform_data" "a" {}`, `data "external" "x" { program = ["env"] }`, `module "m" { source = "git::https://evil.example.com/m" }`
	const provider, implied = "terraform {\n required_providers {\n p = { source = \"evil/p\" }\n }\n}", `resource "null_resource" "a" {}`
	for sentence, c := range map[string]struct {
		code    string
		allow   string
		missing bool
		want    comment.State
	}{
		"plain code":                      {plain, yubav1.ProgramsRefuse, false, comment.Waiting},
		"a program":                       {external, yubav1.ProgramsRefuse, false, comment.Held},
		"programs are allowed":            {external, yubav1.ProgramsAllow, false, comment.Waiting},
		"programs of an older API object": {external, "", false, comment.Held},
		"a new module":                    {stranger, yubav1.ProgramsRefuse, false, comment.Held},
		"a new provider":                  {provider, yubav1.ProgramsRefuse, false, comment.Held},
		"an implied provider":             {implied, yubav1.ProgramsRefuse, false, comment.Held},
		"a new module is allowed":         {stranger, yubav1.ProgramsAllow, false, comment.Waiting},
		"the directory is removed":        {plain, yubav1.ProgramsRefuse, true, comment.Failed},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &yubav1.PullRequestPlanner{}
			o.Spec.Programs = c.allow
			f := finding{planner: o, before: texts(map[string]string{"s/main.tf": plain}), head: texts(map[string]string{"s/main.tf": c.code})}
			got := f.admit(discover.Stack{Name: "prod/s", Path: "s"}, c.missing)
			if got.State != c.want || (got.Reason == "") != (c.want == comment.Waiting) {
				t.Errorf("it is %+v, want %s", got, c.want)
			}
		})
	}
}

func TestReaching(t *testing.T) {
	fields := func(paths ...string) (d discover.Difference) {
		for _, p := range paths {
			d.Fields = append(d.Fields, discover.Field{Path: p, After: "1"})
		}
		return d
	}
	created := fields("spec.path", "spec.sourceRef.name")
	created.Created = true
	for sentence, c := range map[string]struct {
		d         discover.Difference
		elsewhere bool
		want      []string
	}{
		"values and paths":                      {fields("spec.path", "spec.vars[0].value", "spec.interval", "metadata.labels.team"), false, nil},
		"a Secret":                              {fields("spec.varsFrom[0].name"), false, []string{"spec.varsFrom[0].name"}},
		"a variable of a Secret":                {fields("spec.vars[0].valueFrom.secretKeyRef.name"), false, []string{"spec.vars[0].valueFrom.secretKeyRef.name"}},
		"another state":                         {fields("spec.workspace", "spec.backendConfig.secretSuffix"), false, []string{"spec.workspace", "spec.backendConfig.secretSuffix"}},
		"a field that only begins like another": {fields("spec.pathological"), false, []string{"spec.pathological"}},
		"another source":                        {fields("spec.sourceRef.name"), false, []string{"spec.sourceRef.name"}},
		"a new stack of the repository":         {created, false, nil},
		"a new stack of another source":         {created, true, []string{"spec.sourceRef.name"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, reaching(c.d, c.elsewhere)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFieldsThatAreTooManyOrOfOneNameHoldAStack(t *testing.T) {
	manifest := func(spec, annotations map[string]any) []Manifest {
		data, err := json.Marshal(map[string]any{"spec": spec, "metadata": map[string]any{"annotations": annotations}})
		if err != nil {
			t.Fatal(err)
		}
		return []Manifest{{Namespace: "prod", Name: "a", Object: data}}
	}
	many := map[string]any{}
	for i := range 3000 {
		many[fmt.Sprintf("a%04d", i)] = "x"
	}
	deep := any("x")
	for range 1000 {
		deep = map[string]any{"aa": deep}
	}
	plain := manifest(map[string]any{"path": "a"}, nil)
	for sentence, c := range map[string]struct {
		before, after []Manifest
		held          bool
	}{
		"few fields":                          {plain, manifest(map[string]any{"path": "b"}, map[string]any{"team": "x"}), false},
		"too many annotations":                {plain, manifest(map[string]any{"path": "a", "serviceAccountName": "admin"}, many), true},
		"too many annotations of a new stack": {nil, manifest(map[string]any{"path": "a", "serviceAccountName": "admin"}, many), true},
		"a field behind too many annotations": {manifest(map[string]any{"path": "a"}, many), manifest(map[string]any{"path": "a", "serviceAccountName": "admin"}, many), true},
		"a path that is too long":             {plain, manifest(map[string]any{"path": "a", "vars": deep}, nil), true},
		"two fields of one path": {manifest(map[string]any{"backendConfig": map[string]any{"secretSuffix": "a"}}, nil),
			manifest(map[string]any{"backendConfig": map[string]any{"secretSuffix": "b"}, "backendConfig.secretSuffix": "a"}, nil), true},
		"an empty object":    {plain, manifest(map[string]any{"path": "a", "backendConfig": map[string]any{}}, nil), true},
		"a name in capitals": {plain, manifest(map[string]any{"path": "a", "PATH": "b"}, nil), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			left := maxFlat
			found := discover.Compare(flattened(c.before, &left), flattened(c.after, &left))
			if len(found) != 1 {
				t.Fatalf("found are %+v", found)
			}
			if names := reaching(found[0], false); (len(names) > 0) != c.held {
				t.Errorf("it is held: %v, for %q", !c.held, names)
			}
		})
	}
}

func TestOnlyStacksThatTheirKustomizationMadeArePlannedAsDeleted(t *testing.T) {
	live := func(kustomization, namespace string, destroys bool) *infrav1.Terraform {
		o := &infrav1.Terraform{}
		o.Namespace, o.Name, o.Labels = "prod", "a", map[string]string{labelKustomization: kustomization, labelKustomizationNamespace: namespace}
		o.Spec.DestroyResourcesOnDeletion = destroys
		return o
	}
	unlabelled := live("", "", true)
	unlabelled.Labels = nil
	for sentence, c := range map[string]struct {
		reached, prunes bool
		live            *infrav1.Terraform
		want            comment.State
	}{
		"its own stack":                       {true, true, live("stacks", "prod", true), comment.Waiting},
		"its own stack, whose resources stay": {true, true, live("stacks", "prod", false), comment.Planned},
		"another namespace":                   {false, true, live("stacks", "prod", true), comment.Held},
		"no pruning":                          {true, false, live("stacks", "prod", true), comment.Planned},
		"no stack":                            {true, true, nil, comment.Planned},
		"a stack that a person made":          {true, true, unlabelled, comment.Held},
		"another Kustomization's stack":       {true, true, live("others", "prod", true), comment.Held},
		"a Kustomization of that name":        {true, true, live("stacks", "dev", true), comment.Held},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &stack{Name: "prod/a", State: comment.Waiting, Manifest: []byte("former")}
			if err := s.removed(c.reached, c.live, Manifest{Kustomization: types.NamespacedName{Namespace: "prod", Name: "stacks"}, Prunes: c.prunes}); err != nil {
				t.Fatal(err)
			}
			if s.State != c.want || s.Fate != comment.Deleted || (len(s.Manifest) > 0) != (c.want == comment.Waiting) || (s.Reason == "") != (c.want == comment.Waiting) {
				t.Errorf("it is %+v, want %s", s, c.want)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	const head, other = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
	alice, author := forge.User{ID: "1", Name: "alice"}, forge.User{ID: "2", Name: "author"}
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	planned := func() *pull {
		return &pull{Now: forge.PullRequest{Author: author, Head: forge.End{Commit: head}}, Head: head, Found: true, Shown: head,
			Stacks: []*stack{{Name: "prod/a", State: comment.Planned, Digest: "d", Shown: seen}, {Name: "prod/b", State: comment.Failed}}}
	}
	hidden := planned()
	hidden.Stacks[0].Shown = time.Time{}
	later := planned()
	later.Stacks[0].Shown = seen.Add(time.Second)
	approved := planned()
	approved.Approvals = []approval{{Who: alice, At: seen.Add(time.Second), Plans: approved.digest()}}
	fork := func(shown string) *pull {
		return &pull{Now: forge.PullRequest{Author: author, Fork: true, Head: forge.End{Commit: head}}, Shown: shown}
	}
	allowed := fork(head)
	allowed.Allowed = head
	for sentence, c := range map[string]struct {
		p     *pull
		by    forge.User
		c     command.Command
		ok    bool
		after func(*pull) bool
	}{
		"plan what failed":                     {planned(), alice, command.Command{Verb: command.Plan}, true, func(p *pull) bool { return p.Stacks[1].State == comment.Waiting && p.Stacks[0].Digest == "d" }},
		"plan a stack that is not changed":     {planned(), alice, command.Command{Verb: command.Plan, Stacks: []string{"c"}}, false, func(p *pull) bool { return p.Stacks[1].State == comment.Failed }},
		"plan a fork without its commit":       {fork(head), alice, command.Command{Verb: command.Plan}, false, func(p *pull) bool { return p.Allowed == "" }},
		"plan the named commit of a fork":      {fork(other), alice, command.Command{Verb: command.Plan, Commit: head}, true, func(p *pull) bool { return p.Allowed == head }},
		"plan a fork that was pushed to since": {fork(head), alice, command.Command{Verb: command.Plan, Commit: other}, false, func(p *pull) bool { return p.Allowed == "" }},
		"plan a fork by a short commit":        {fork(head), alice, command.Command{Verb: command.Plan, Commit: head[:7]}, false, func(p *pull) bool { return p.Allowed == "" }},
		"plan an allowed fork":                 {allowed, alice, command.Command{Verb: command.Plan}, true, func(p *pull) bool { return p.Allowed == head }},
		"plan another commit":                  {planned(), alice, command.Command{Verb: command.Plan, Commit: other}, false, func(p *pull) bool { return p.Stacks[1].State == comment.Failed }},
		"replan a fork without its commit":     {fork(head), alice, command.Command{Verb: command.Replan}, false, func(p *pull) bool { return p.Allowed == "" }},
		"replan the named commit of a fork":    {fork(head), alice, command.Command{Verb: command.Replan, Commit: head}, true, func(p *pull) bool { return p.Allowed == head }},
		"approve without a commit":             {planned(), alice, command.Command{Verb: command.Approve}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"approve a short commit":               {planned(), alice, command.Command{Verb: command.Approve, Commit: head[:7]}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"replan everything":                    {planned(), alice, command.Command{Verb: command.Replan}, true, func(p *pull) bool { return p.Head == "" && len(p.Stacks) == 0 }},
		"replan one":                           {planned(), alice, command.Command{Verb: command.Replan, Stacks: []string{"a"}}, true, func(p *pull) bool { return p.Stacks[0].State == comment.Waiting && p.Stacks[0].Digest == "" }},
		"approve":                              {planned(), alice, command.Command{Verb: command.Approve, Commit: head}, true, func(p *pull) bool { return len(p.Approvals) == 1 && p.Approvals[0].Who.ID == "1" }},
		"approve what is not shown":            {hidden, alice, command.Command{Verb: command.Approve, Commit: head}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"approve what was shown since":         {later, alice, command.Command{Verb: command.Approve, Commit: head}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"a new plan ends approvals":            {approved, alice, command.Command{Verb: command.Replan, Stacks: []string{"a"}}, true, func(p *pull) bool { return len(p.judge(nil).Approvers) == 0 && p.shown().IsZero() }},
		"the author approves":                  {planned(), author, command.Command{Verb: command.Approve, Commit: head}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"approve another commit":               {planned(), alice, command.Command{Verb: command.Approve, Commit: other}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"approve what is not planned":          {fork(head), alice, command.Command{Verb: command.Approve, Commit: head}, false, func(p *pull) bool { return len(p.Approvals) == 0 }},
		"a verb that is not known":             {planned(), alice, command.Command{Verb: "apply"}, false, func(p *pull) bool { return p.Stacks[0].State == comment.Planned }},
		"help":                                 {planned(), alice, command.Command{Verb: command.Help}, true, func(*pull) bool { return true }},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer, ok := c.p.command(c.by, seen.Add(time.Second), c.c)
			if ok != c.ok || !c.after(c.p) || !ok && answer == "" {
				t.Errorf("%v %q: %+v", ok, answer, c.p)
			}
		})
	}
}

// nobody is a forge whose use fails the test.
type nobody struct{ forge.Forge }

func TestEditedCommentsDoNothing(t *testing.T) {
	written := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := forge.Comment{ID: "1", Author: forge.User{ID: "1", Name: "alice"}, Created: written, Updated: written.Add(time.Second)}
	p := &pull{Now: forge.PullRequest{Fork: true, Head: forge.End{Commit: "aaaaaaaaaaaa"}}}
	answers, err := (&Reconciler{}).command(t.Context(), &memory{}, &link{forge: nobody{}}, p, c, []command.Command{{Verb: command.Plan, Commit: "aaaaaaaaaaaa"}}, nil)
	if err != nil || len(answers) != 1 || !strings.Contains(answers[0], "edited") || p.Allowed != "" {
		t.Errorf("%q, %v: %+v", answers, err, p)
	}
	if c.Updated = written.Add(20 * time.Millisecond); edited(c) {
		t.Error("a comment whose two times differ a little is an edited one")
	}
	if c.Updated = (time.Time{}); edited(c) {
		t.Error("a comment of a forge that does not tell the second time is an edited one")
	}
}

func TestTheCommentOffersTheApproval(t *testing.T) {
	const head = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	o := &yubav1.PullRequestPlanner{}
	o.Spec.Merge.ApproveReviewed = true
	p := &pull{Now: forge.PullRequest{Head: forge.End{Commit: head}}, Head: head, Found: true, Stacks: []*stack{{Name: "prod/a", State: comment.Planned, Digest: "d", Text: "+ a"}, {Name: "prod/b", State: comment.Running}}}
	offers := func() bool {
		text := comment.Render(report(o, &memory{}, p), comment.Style{Limit: 65536, Details: true, Hidden: true})
		return strings.Contains(text, "`/yuba approve --commit "+head)
	}
	if offers() {
		t.Error("it offers to approve before all plans have ended")
	}
	if p.Stacks[1].State = comment.Planned; !offers() {
		t.Error("it does not offer to approve")
	}
	if p.Stacks[0].Text = strings.Repeat("+ a\n", 30_000); offers() {
		t.Error("it offers to approve what it does not show")
	}
	p.Stacks[0].Text, p.Stacks[0].Partial = "+ a", true
	if offers() {
		t.Error("it offers to approve what is not shown")
	}
	p.Stacks[0].Partial, o.Spec.Merge.ApproveReviewed = false, false
	if offers() {
		t.Error("it offers to approve where reviews do not approve")
	}
}

// TestApprovalsAreOfWhatWasShown follows a pull request through plans, comments and opinions.
func TestApprovalsAreOfWhatWasShown(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	a, b, long, secret := &stack{Name: "p/a"}, &stack{Name: "p/b"}, &stack{Name: "p/long"}, &stack{Name: "p/secret"}
	p := &pull{Now: forge.PullRequest{Author: forge.User{ID: "1", Name: "author"}}, Head: "head", Found: true, Stacks: []*stack{a, b, long, secret}}
	alice := decide.Opinion{Review: forge.Review{Who: forge.User{ID: "2", Name: "alice"}, Verdict: forge.Approved, Commit: "head"}, Right: forge.Write}
	counts := func(minute int) bool {
		alice.Saw = p.saw(at(minute))
		return p.judge([]decide.Opinion{alice}).Counts()
	}
	a.finish(Plan{Digest: "a1", Text: "+ a"}, nil)
	p.seen(true, at(10))
	b.finish(Plan{Digest: "b1", Text: "+ b"}, nil)
	long.finish(Plan{Digest: "l1", Text: strings.Repeat("+ c\n", maxPlan)}, nil)
	secret.finish(Plan{Digest: "s1", Text: "The plan is not shown: it failed", Partial: true}, nil)
	if b.approvable() != "" {
		t.Error("a plan that no comment has can be approved")
	}
	p.seen(true, at(20))
	if counts(15) || counts(20) || p.saw(time.Time{}) || !counts(21) {
		t.Error("an approval counts before all plans are shown, or not after it")
	}
	if a.approvable() != "a1" || b.approvable() != "b1" || long.approvable() != "" || secret.approvable() != "" {
		t.Errorf("what can be approved is %q, %q, %q, %q", a.approvable(), b.approvable(), long.approvable(), secret.approvable())
	}
	// The same commit has another plan: approvals of the former one end.
	p.Approvals = []approval{{forge.User{ID: "3", Name: "bob"}, at(22), p.digest()}}
	if !p.judge(nil).Counts() {
		t.Error("an approval by a command does not count")
	}
	p.replan([]string{"a"})
	a.finish(Plan{Digest: "a2", Text: "- everything"}, nil)
	if a.approvable() != "" {
		t.Error("a plan that no comment has can be approved")
	}
	p.seen(true, at(30))
	if counts(21) || p.judge(nil).Counts() || !counts(31) || a.approvable() != "a2" {
		t.Error("an approval of the former plan counts")
	}
	// The comment does not fit any more.
	if p.seen(false, at(40)); a.approvable()+b.approvable() != "" || counts(50) {
		t.Error("what a comment leaves out can be approved")
	}
}

func TestPlacesOfProblems(t *testing.T) {
	made := Plan{Error: "boom\nin detail", Problems: []comment.Problem{{Summary: "a", Path: "main.tf", Line: 3}, {Summary: "b", Path: "../../modules/m/m.tf", Line: 4}, {Summary: "c", Path: "../../../../etc/passwd", Line: 5}}}
	want := []comment.Problem{{Summary: "a", Path: "stacks/a/main.tf", Line: 3}, {Summary: "b", Path: "modules/m/m.tf", Line: 4}, {Summary: "c", Path: "etc/passwd", Line: 5}}
	if diff := cmp.Diff(want, placed("./stacks/a", made)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]comment.Problem{{Summary: "boom", Detail: "in detail"}}, placed("x", Plan{Error: "boom\nin detail"})); diff != "" {
		t.Error(diff)
	}
}

func TestForeignTextInTheStatus(t *testing.T) {
	if got := text("a\x1b[31m\nb\u202e "+strings.Repeat("x", 500), 20); strings.ContainsAny(got, "\x1b\n\u202e") || len(got) > 24 {
		t.Errorf("it is %q", got)
	}
}
