// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// fetched is a base that is fetched.
type fetched struct {
	Sources
	source Source
}

func (f fetched) Base(context.Context, *sourcev1.GitRepository) (*Source, error) {
	return &f.source, nil
}

// TestApprovalsAreAboutTheMerge: whoever approved plans for another branch, or owned the files once, did not approve the merge.
func TestApprovalsAreAboutTheMerge(t *testing.T) {
	changes := func(names ...string) (c forge.Changes) {
		for _, name := range names {
			c.Files = append(c.Files, forge.File{Path: name})
		}
		return c
	}
	for sentence, c := range map[string]struct {
		change func(*asking, *changingOwners)
		void   string
	}{
		"nothing has changed":                      {func(*asking, *changingOwners) {}, ""},
		"others own the files":                     {func(_ *asking, f *changingOwners) { f.text = "* @carol" }, "changed after the owners"},
		"a record without owners":                  {func(a *asking, _ *changingOwners) { a.p.OwnersOf = "" }, "changed after the owners"},
		"others own the files, but need not agree": {func(a *asking, f *changingOwners) { f.text, a.l.planner.Spec.Approvals.CodeOwners = "* @carol", false }, ""},
		"it changes other files":                   {func(_ *asking, f *changingOwners) { f.changes = changes("main.tf", "docs/CODEOWNERS.md") }, ""},
		"it changes CODEOWNERS":                    {func(_ *asking, f *changingOwners) { f.changes = changes("CODEOWNERS") }, "it changes CODEOWNERS"},
		"it changes too many files":                {func(_ *asking, f *changingOwners) { f.changes.Incomplete = true }, "too many files"},
		"it was merged into another branch":        {func(a *asking, _ *changingOwners) { a.p.Now.Base.Branch = "release" }, "for another branch"},
		"a record without a branch":                {func(a *asking, _ *changingOwners) { a.p.Base = "" }, "is not known"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAsking(t)
			f := &changingOwners{a.f, "* @bob"}
			a.l.forge, a.l.planner.Spec.Approvals.CodeOwners = f, true
			a.Owners = func(_ forge.Kind, _ string, text []byte, _ []string) ([][]string, error) {
				return [][]string{strings.Fields(string(text))[1:]}, nil
			}
			a.p.Base, a.p.Now.Base.Branch = "main", "main"
			if err := a.own(a.l, a.p, &finding{changed: []string{"main.tf"}}, a.codeowners(t.Context(), a.l, "main", "")()); err != nil {
				t.Fatal(err)
			}
			c.change(a, f)
			a.p.Now.State, a.p.Now.MergeCommit = forge.Merged, strings.Repeat("c", 40)
			if err := a.merge(t.Context(), &yubav1.PullRequestPlanner{}, a.m, a.l, a.p); err != nil {
				t.Fatal(err)
			}
			got := a.p.Merged
			if got == nil || len(got.Approvers) > 0 != (c.void == "") || (got.Void == "") != (c.void == "") || !strings.Contains(got.Void, c.void) {
				t.Errorf("the merge is %+v", got)
			}
		})
	}
}

func TestFilesOfTheMergeCommit(t *testing.T) {
	const commit = "cccccccccccc"
	head := texts(map[string]string{"s/main.tf": "# planned", "other/main.tf": "# 1"})
	l := &link{source: &sourcev1.GitRepository{}}
	l.source.Namespace, l.source.Name = "prod", "infra"
	for sentence, c := range map[string]struct {
		files              map[string]string
		fetched, planned   string
		path               string
		digest             string
		elsewhere, another bool
		want               bool
	}{
		"the same files":             {files: map[string]string{"s/main.tf": "# planned", "other/main.tf": "# 2"}, want: true},
		"a provisioner was added":    {files: map[string]string{"s/main.tf": "# planned, and a provisioner"}},
		"a file was added":           {files: map[string]string{"s/main.tf": "# planned", "s/more.tf": ""}},
		"the source has moved on":    {files: map[string]string{"s/main.tf": "# planned"}, fetched: "main@sha1:later"},
		"the plan is of another one": {files: map[string]string{"s/main.tf": "# planned"}, planned: "main@sha1:later"},
		"the stack has another path": {files: map[string]string{"s/main.tf": "# planned", "t/main.tf": "# planned"}, path: "t"},
		"it changes something else":  {files: map[string]string{"s/main.tf": "# planned"}, digest: "d2"},
		"its program is elsewhere":   {files: map[string]string{"s/main.tf": "# planned"}, elsewhere: true},
		"it follows another source":  {files: map[string]string{"s/main.tf": "# planned"}, another: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			or := func(text, other string) string {
				if text != "" {
					return text
				}
				return other
			}
			s := &stack{Name: "prod/s", Digest: "d1", Files: discover.Sum(head, discover.Stack{Path: "s"})}
			if c.elsewhere {
				s.Files = ""
			}
			var o infrav1.Terraform
			o.Namespace, o.Name, o.Spec.Path = "prod", "s", or(c.path, "./s")
			o.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "infra"}
			if c.another {
				o.Spec.SourceRef.Name = "another"
			}
			o.Status.LastPlannedRevision = or(c.planned, "main@sha1:"+commit)
			o.Status.Plan.Pending, o.Status.Plan.ChangesDigest = "plan-1", or(c.digest, "d1")
			r := &Reconciler{Sources: fetched{source: Source{Revision: or(c.fetched, "main@sha1:"+commit), Tree: texts(c.files)}}}
			if got, err := r.same(t.Context(), l, &pull{Merged: &merged{Commit: commit}}, s, &o); err != nil || got != c.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
