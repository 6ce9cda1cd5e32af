// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
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
	alice, author := forge.User{Name: "alice"}, forge.User{Name: "author"}
	planned := func() *pull {
		return &pull{Now: forge.PullRequest{Author: author, Head: forge.End{Commit: head}}, Head: head, Found: true, Shown: head,
			Stacks: []*stack{{Name: "prod/a", State: comment.Planned, Digest: "d"}, {Name: "prod/b", State: comment.Failed}}}
	}
	fork := func(shown string) *pull {
		return &pull{Now: forge.PullRequest{Author: author, Fork: true, Head: forge.End{Commit: head}}, Shown: shown}
	}
	for sentence, c := range map[string]struct {
		p     *pull
		by    forge.User
		c     command.Command
		ok    bool
		after func(*pull) bool
	}{
		"plan what failed":                   {planned(), alice, command.Command{Verb: command.Plan}, true, func(p *pull) bool { return p.Stacks[1].State == comment.Waiting && p.Stacks[0].Digest == "d" }},
		"plan a stack that is not changed":   {planned(), alice, command.Command{Verb: command.Plan, Stacks: []string{"c"}}, false, func(p *pull) bool { return p.Stacks[1].State == comment.Failed }},
		"plan the shown commit of a fork":    {fork(head), alice, command.Command{Verb: command.Plan}, true, func(p *pull) bool { return p.Allowed == head }},
		"plan a commit that nobody has seen": {fork(other), alice, command.Command{Verb: command.Plan}, false, func(p *pull) bool { return p.Allowed == "" }},
		"replan everything":                  {planned(), alice, command.Command{Verb: command.Replan}, true, func(p *pull) bool { return p.Head == "" && len(p.Stacks) == 0 }},
		"replan one":                         {planned(), alice, command.Command{Verb: command.Replan, Stacks: []string{"a"}}, true, func(p *pull) bool { return p.Stacks[0].State == comment.Waiting && p.Stacks[0].Digest == "" }},
		"approve":                            {planned(), alice, command.Command{Verb: command.Approve}, true, func(p *pull) bool { return len(p.Approvers) == 1 }},
		"the author approves":                {planned(), author, command.Command{Verb: command.Approve}, false, func(p *pull) bool { return len(p.Approvers) == 0 }},
		"approve another commit":             {planned(), alice, command.Command{Verb: command.Approve, Commit: other}, false, func(p *pull) bool { return len(p.Approvers) == 0 }},
		"approve what is not planned":        {fork(head), alice, command.Command{Verb: command.Approve}, false, func(p *pull) bool { return len(p.Approvers) == 0 }},
		"a verb that is not known":           {planned(), alice, command.Command{Verb: "apply"}, false, func(p *pull) bool { return p.Stacks[0].State == comment.Planned }},
		"help":                               {planned(), alice, command.Command{Verb: command.Help}, true, func(*pull) bool { return true }},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer, ok := c.p.command(c.by, c.c)
			if ok != c.ok || !c.after(c.p) || !ok && answer == "" {
				t.Errorf("%v %q: %+v", ok, answer, c.p)
			}
		})
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
