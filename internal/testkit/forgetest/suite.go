// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Run runs the suite in a new world for each test.
func Run(t *testing.T, world func(t testing.TB) World, traits Traits) {
	for name, test := range map[string]func(t *testing.T, w World, f forge.Forge, traits Traits){
		"the repository is described":                      describes,
		"open pull requests are listed, with all fields":   lists,
		"a fork is one":                                    forks,
		"a push moves the head":                            pushes,
		"closed and merged pull requests are told apart":   ends,
		"changed files are listed, with limits":            changes,
		"files are read at a commit":                       reads,
		"the status of each name is set and replaced":      statuses,
		"one comment is edited in place":                   edits,
		"a marker in another's comment is not ours":        planted,
		"comments are listed since a time":                 comments,
		"reactions can be repeated":                        reacts,
		"the present review of each person counts":         reviews,
		"rights are told":                                  rights,
		"what is not there is not found":                   missing,
		"a wrong token is not accepted":                    wrongToken,
		"a missing scope is named":                         missingScope,
		"a renamed repository is found under its old name": renamed,
		"an ended context ends requests":                   canceled,
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			test(t, w, w.Open(t, w.Config(t, Full)), traits)
		})
	}
}

func background(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func ok[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func describes(t *testing.T, w World, f forge.Forge, _ Traits) {
	r := ok(f.Repository(background(t)))(t)
	if r.ID == "" || r.Name != w.Name() || r.Branch != "main" || !strings.HasPrefix(r.URL, "http") || !strings.HasPrefix(r.Clone, "http") || r.Archived {
		t.Errorf("the repository is %+v", r)
	}
	if f.Kind() == "" || f.Limits().Comment < 1000 || f.Limits().Description < 50 || f.Limits().Name < 20 {
		t.Errorf("the limits of %q are %+v", f.Kind(), f.Limits())
	}
}

// Simple is a pull request that changes one file.
func Simple(branch string) Pull {
	return Pull{Branch: branch, Title: "Change " + branch, Author: Alice, Write: map[string]string{"main.tf": "# " + branch + "\n"}}
}

func lists(t *testing.T, w World, f forge.Forge, traits Traits) {
	p := Simple("one")
	p.Labels, p.Title = []string{"infra"}, "Grow <script>@everyone</script>"
	first := w.Create(t, p)
	draft := Simple("two")
	draft.Draft = true
	second := w.Create(t, draft)
	third := w.Create(t, Simple("feature/a-b_c.d"))
	closed := w.Create(t, Simple("closed"))
	w.Close(t, closed)
	all := ok(f.PullRequests(background(t), time.Time{}))(t)
	by := map[int]forge.PullRequest{}
	for _, p := range all {
		by[p.Number] = p
	}
	if len(all) != 3 || len(by) != 3 {
		t.Fatalf("%d pull requests are listed, want 3: %+v", len(all), all)
	}
	one := by[first]
	want := forge.PullRequest{Number: first, Title: p.Title, State: forge.Open, Ref: one.Ref,
		Head: forge.End{Repository: w.Name(), Branch: "one"}, Base: forge.End{Repository: w.Name(), Branch: "main"}, Labels: []string{"infra"}}
	if traits.NoLabels {
		want.Labels = nil
	}
	ignored := cmpopts.IgnoreFields(forge.PullRequest{}, "URL", "Author", "Updated", "Head.Commit", "Base.Commit")
	if diff := cmp.Diff(want, one, ignored, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if len(one.Head.Commit) != 40 || one.Author.Name != Alice || !strings.HasPrefix(one.URL, "http") || one.Updated.IsZero() != traits.NoUpdated {
		t.Errorf("the pull request is %+v", one)
	}
	if !traits.NoDrafts && !by[second].Draft {
		t.Error("the draft is not one")
	}
	if by[third].Head.Branch != "feature/a-b_c.d" {
		t.Errorf("the branch is %q", by[third].Head.Branch)
	}
	later := ok(f.PullRequests(background(t), time.Now().Add(24*time.Hour)))(t)
	if len(later) != 0 && !traits.NoUpdated {
		t.Errorf("%d pull requests changed after tomorrow", len(later))
	}
}

func forks(t *testing.T, w World, f forge.Forge, _ Traits) {
	p := Simple("from-a-fork")
	p.Fork, p.Author = true, Bob
	got := ok(f.PullRequest(background(t), w.Create(t, p)))(t)
	if !got.Fork || got.Head.Repository == w.Name() || got.Head.Repository == "" || got.Base.Repository != w.Name() || got.Author.Name != Bob {
		t.Errorf("the fork is %+v", got)
	}
}

func pushes(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Simple("moving"))
	before := ok(f.PullRequest(background(t), n))(t)
	commit := w.Push(t, n, map[string]string{"main.tf": "# again\n"})
	// Forges update pull requests after they accepted the push.
	Eventually(t, "the head moves", func() bool {
		return ok(f.PullRequest(background(t), n))(t).Head.Commit == commit
	})
	if before.Head.Commit == commit || before.State != forge.Open {
		t.Errorf("before the push it was %+v", before)
	}
}

func ends(t *testing.T, w World, f forge.Forge, _ Traits) {
	merged, closed := w.Create(t, Simple("merged")), w.Create(t, Simple("closed"))
	commit := w.Merge(t, merged)
	w.Close(t, closed)
	m, c := ok(f.PullRequest(background(t), merged))(t), ok(f.PullRequest(background(t), closed))(t)
	if m.State != forge.Merged || m.MergeCommit != commit || commit == "" {
		t.Errorf("it was merged by %s and is %+v", commit, m)
	}
	if c.State != forge.Closed || c.MergeCommit != "" {
		t.Errorf("it was closed and is %+v", c)
	}
}

func changes(t *testing.T, w World, f forge.Forge, _ Traits) {
	p := Pull{Branch: "files", Title: "Files", Author: Alice, Remove: []string{"gone.tf"}, Rename: map[string]string{"old.tf": "new name.tf"}, Write: map[string]string{"main.tf": "# other\n"}}
	want := []forge.File{{Path: "gone.tf", Action: forge.Removed}, {Path: "main.tf", Action: forge.Modified}, {Path: "new name.tf", Before: "old.tf", Action: forge.Renamed}}
	for i := range 120 {
		path := fmt.Sprintf("stacks/%03d/ü#?.tf", i)
		p.Write[path] = fmt.Sprintf("# %d\n", i)
		want = append(want, forge.File{Path: path, Action: forge.Added})
	}
	n := w.Create(t, p)
	got := ok(f.ChangedFiles(background(t), n, 1000))(t)
	sorted := func(files []forge.File) []forge.File {
		slices.SortFunc(files, func(a, b forge.File) int { return strings.Compare(a.Path, b.Path) })
		return files
	}
	if diff := cmp.Diff(sorted(want), sorted(got.Files)); diff != "" || got.Incomplete {
		t.Errorf("incomplete %t: %s", got.Incomplete, diff)
	}
	some := ok(f.ChangedFiles(background(t), n, 7))(t)
	if len(some.Files) != 7 || !some.Incomplete {
		t.Errorf("at most 7 files are %d, incomplete %t", len(some.Files), some.Incomplete)
	}
}

func reads(t *testing.T, w World, f forge.Forge, _ Traits) {
	n := w.Create(t, Pull{Branch: "owned", Title: "Owned", Author: Alice, Write: map[string]string{"docs/CODEOWNERS": "* @bob\n"}})
	head := ok(f.PullRequest(background(t), n))(t).Head.Commit
	if got := string(ok(f.File(background(t), "docs/CODEOWNERS", head))(t)); got != "* @bob\n" {
		t.Errorf("the file has %q", got)
	}
	var gone *forge.NotFoundError
	if _, err := f.File(background(t), "docs/CODEOWNERS", "main"); !errors.As(err, &gone) {
		t.Errorf("reading it on main: %v", err)
	}
	if path, _, err := forge.Codeowners(background(t), f, "main"); path != "" || err != nil {
		t.Errorf("owners of main are in %q: %v", path, err)
	}
	m := w.Create(t, Pull{Branch: "owners", Title: "Owners", Author: Alice, Write: map[string]string{"CODEOWNERS": "* @alice\n"}})
	head = ok(f.PullRequest(background(t), m))(t).Head.Commit
	if path, content, err := forge.Codeowners(background(t), f, head); path != "CODEOWNERS" || string(content) != "* @alice\n" || err != nil {
		t.Errorf("owners are in %q: %q %v", path, content, err)
	}
}

// Eventually waits until something is so.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s it is not so that %s", what)
		}
	}
}
