// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestRepositoriesOnDisk(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	r.Git(t, "tag", "--annotate", "--message", "release", "v1.0.0")
	r.Push(t)
	tagged := r.Head(t)
	head := r.Commit(t, "second", gittest.Files{"main.tf": "two", "big": noise(2 << 20)})
	m := open(t, Options{FileDirs: []string{t.TempDir(), filepath.Dir(r.Path())}})
	up := Upstream{URL: "file://" + r.Path()}
	for name, c := range map[string]struct {
		ref            Ref
		revision, file string
	}{
		"a branch":               {Ref{Branch: "main"}, "main@sha1:" + head, "two"},
		"an annotated tag":       {Ref{SemVer: "1.x"}, "v1.0.0@sha1:" + tagged, "one"},
		"where HEAD leads to":    {Ref{Name: "HEAD"}, "HEAD@sha1:" + head, "two"},
		"a commit":               {Ref{Commit: tagged}, "sha1:" + tagged, "one"},
		"references in one file": {Ref{Tag: "v1.0.0"}, "v1.0.0@sha1:" + tagged, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "references in one file" {
				r.Git(t, "-C", r.Path(), "gc", "--quiet")
			}
			found := look(t, m, up, Want{Ref: c.ref})
			if found.Revision != c.revision {
				t.Errorf("the revision is %s, want %s", found.Revision, c.revision)
			}
			if got := fetched(t, found)["main.tf"]; got != c.file {
				t.Errorf("the file is %q, want %q", got, c.file)
			}
		})
	}
	tree := open(t, Options{FileDirs: []string{r.Tree()}})
	if got := fetched(t, look(t, tree, Upstream{URL: "file://" + r.Tree()}, main)); got["main.tf"] != "two" {
		t.Errorf("the tree of a repository that is checked out is %v", got)
	}
	missing := look(t, m, up, Want{Ref: Ref{Commit: hash("c").String()}})
	wantFailure(t, missing.Fetch(patient(t), t.TempDir()), ReasonOperation)
	empty := server.Repository(t, "empty")
	_, err := m.Look(patient(t), Upstream{URL: "file://" + empty.Path()}, main)
	wantFailure(t, err, ReasonEmpty, "is empty")
	_, err = m.Look(patient(t), Upstream{URL: empty.URL()}, main)
	wantFailure(t, err, ReasonEmpty, "is empty")
	if left, err := m.Collect(patient(t), 0, 0); err != nil || left != 0 {
		t.Errorf("copies of %d bytes were made, %v", left, err)
	}
}

func TestRepositoriesOnDiskStayWhereTheyAreAllowed(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	allowed := t.TempDir()
	m := open(t, Options{FileDirs: []string{allowed}})
	link := func(name, target string) string {
		path := filepath.Join(allowed, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return "file://" + path
	}
	mkdir := func(name string) string {
		if err := os.MkdirAll(filepath.Join(allowed, name), 0o755); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(allowed, name)
	}
	mkdir("plain")
	mkdir("linked")
	worktree := mkdir("worktree")
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: "+r.Path()), 0o600); err != nil {
		t.Fatal(err)
	}
	link("linked/.git", r.Path())
	for name, c := range map[string]struct{ url, word string }{
		"outside":                     {"file://" + r.Path(), "--file-sources"},
		"outside, by dots":            {"file://" + allowed + "/../../../../../../" + r.Path(), "--file-sources"},
		"outside, by a link":          {link("out", r.Path()), "--file-sources"},
		"what is not there, outside":  {"file:///nowhere/at/all", "--file-sources"},
		"a directory without any":     {"file://" + allowed + "/plain", "no repository"},
		"a link to a repository":      {"file://" + allowed + "/linked", "no repository"},
		"a worktree of one elsewhere": {"file://" + worktree, "no repository"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Look(patient(t), Upstream{URL: c.url}, main)
			wantFailure(t, err, ReasonOperation, c.word)
		})
	}
	_, err := open(t, Options{}).Look(patient(t), Upstream{URL: "file://" + r.Path()}, main)
	if failure := wantFailure(t, err, ReasonOperation, "--file-sources"); !failure.Stalled {
		t.Error("the failure is not stalled")
	}

	// A repository with alternates outside, and one whose files are links.
	borrower := filepath.Join(allowed, "borrower")
	r.Git(t, "clone", "--quiet", "--bare", "--shared", r.Path(), borrower)
	_, err = m.Look(patient(t), Upstream{URL: "file://" + borrower}, main)
	if err == nil {
		err = look(t, m, Upstream{URL: "file://" + borrower}, main).Fetch(patient(t), t.TempDir())
	}
	wantFailure(t, err, ReasonOperation, "damaged")
	r.Git(t, "-C", r.Path(), "repack", "-a", "-d", "--quiet")
	for name, link := range map[string]string{"objects/pack": "objects/pack", "objects": "objects", "packed-refs": "packed-refs", "refs": "refs"} {
		thief := filepath.Join(allowed, "thief-"+filepath.Base(name))
		r.Git(t, "clone", "--quiet", "--bare", r.Path(), thief)
		if err := os.RemoveAll(filepath.Join(thief, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(r.Path(), link), filepath.Join(thief, name)); err != nil {
			t.Fatal(err)
		}
		if name == "refs" || name == "packed-refs" {
			if err := errors.Join(os.Remove(filepath.Join(thief, "packed-refs")), os.RemoveAll(filepath.Join(thief, "refs"))); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(r.Path(), link), filepath.Join(thief, name)); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		found, err := m.Look(patient(t), Upstream{URL: "file://" + thief}, main)
		if err == nil {
			err = found.Fetch(patient(t), dir)
		}
		if err == nil || len(treeOf(t, dir)) > 0 {
			t.Errorf("%s: a link led out of the repository: %v, %v", name, treeOf(t, dir), err)
		}
	}
}
