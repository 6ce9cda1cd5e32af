// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// rawTree commits a tree that git itself would not create.
func rawTree(t *testing.T, r *gittest.Repository, entries []treeEntry) {
	t.Helper()
	var content []byte
	for _, e := range entries {
		content = append(fmt.Appendf(content, "%s %s\x00", e.mode, e.name), e.hash[:]...)
	}
	file := filepath.Join(t.TempDir(), "tree")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	tree := r.Git(t, "hash-object", "-w", "-t", "tree", "--literally", file)
	commit := r.Git(t, "commit-tree", "-m", "raw", tree)
	r.Git(t, "update-ref", "refs/heads/main", commit)
}

func TestCheckoutIsComplete(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	for name, target := range map[string]string{
		"inside": "dir/main.tf", "dir/up": "../readme", "out": "../etc", "dir/out": "../../etc", "absolute": "/etc/passwd", "round": "dir/../readme", "loop": "loop",
	} {
		path := filepath.Join(r.Tree(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.Tree(), "run.sh"), []byte("#!/bin/sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
	r.Commit(t, "first", gittest.Files{
		"readme": "hello", "dir/main.tf": "one", "dir/sub/deep/x": "", "large": pointer, "ümläut": "ü",
		".gitattributes": "large filter=lfs\n*.tf eol=crlf\nreadme export-ignore\n",
	})
	found := look(t, open(t, Options{}), Upstream{URL: r.URL()}, main)
	want := map[string]string{
		"readme": "hello", "dir/main.tf": "one", "dir/sub/deep/x": "", "large": pointer, "ümläut": "ü", "run.sh": "#!/bin/sh (executable)",
		".gitattributes": "large filter=lfs\n*.tf eol=crlf\nreadme export-ignore\n",
		"inside":         "-> dir/main.tf", "dir/up": "-> ../readme", "loop": "-> loop",
	}
	if diff := cmp.Diff(want, fetched(t, found)); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
}

func TestSparseCheckout(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"readme": "0", "a/x": "1", "a/b/y": "2", "ab/z": "3", "c/d/e/f": "4", "c/g": "5"})
	m := open(t, Options{})
	up := Upstream{URL: r.URL()}
	keys := map[string]bool{}
	for name, c := range map[string]struct {
		sparse []string
		want   map[string]string
	}{
		"a directory, not those whose names begin alike": {[]string{"./a"}, map[string]string{"a/x": "1", "a/b/y": "2"}},
		"two directories":  {[]string{"c/d/", "ab"}, map[string]string{"c/d/e/f": "4", "ab/z": "3"}},
		"one in the other": {[]string{"a", "a/b"}, map[string]string{"a/x": "1", "a/b/y": "2"}},
		"a file":           {[]string{"readme"}, map[string]string{"readme": "0"}},
		"the whole repository, and one directory": {[]string{".", "a"}, map[string]string{"readme": "0", "a/x": "1", "a/b/y": "2", "ab/z": "3", "c/d/e/f": "4", "c/g": "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := look(t, m, up, Want{Ref: main.Ref, Sparse: c.sparse})
			if diff := cmp.Diff(c.want, fetched(t, found)); diff != "" {
				t.Errorf("the tree (-want +got):\n%s", diff)
			}
			if keys[found.ContentKey] {
				t.Error("another tree has the same key")
			}
			keys[found.ContentKey] = true
		})
	}
	missing := look(t, m, up, Want{Ref: main.Ref, Sparse: []string{"a", "gone"}})
	wantFailure(t, missing.Fetch(patient(t), t.TempDir()), ReasonOperation, `"gone"`, "sparseCheckout")
	_, err := m.Look(patient(t), up, Want{Ref: main.Ref, Sparse: []string{"a/../../etc"}})
	if failure := wantFailure(t, err, ReasonOperation, "outside"); !failure.Stalled {
		t.Error("the failure is not stalled")
	}
}

func TestHostileTrees(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	object := func(args ...string) plumbing.Hash { return plumbing.NewHash(r.Git(t, args...)) }
	blob, tree := object("rev-parse", "HEAD:main.tf"), object("rev-parse", "HEAD^{tree}")
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("/tmp"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := object("hash-object", "-w", target)
	// From the disk, because git does not serve all of these.
	m := open(t, Options{FileDirs: []string{r.Tree()}})
	for name, c := range map[string]struct {
		entries []treeEntry
		word    string
	}{
		"git's own directory":              {[]treeEntry{{modeDir, ".git", tree}}, "git reserves this name"},
		"git's own directory, in capitals": {[]treeEntry{{modeDir, ".GIT", tree}}, "git reserves this name"},
		"git's own directory, shortened":   {[]treeEntry{{modeDir, "GIT~1", tree}}, "git reserves this name"},
		"a submodule that is git's own":    {[]treeEntry{{modeSubmodule, ".Git", hash("1")}}, "git reserves this name"},
		"a way out":                        {[]treeEntry{{modeDir, "..", tree}}, "not a valid name of a file"},
		"itself":                           {[]treeEntry{{modeDir, ".", tree}}, "not a valid name of a file"},
		"a path":                           {[]treeEntry{{"100644", "a/b", blob}}, "not a valid name of a file"},
		"a path out":                       {[]treeEntry{{"100644", "../b", blob}}, "not a valid name of a file"},
		"a file twice":                     {[]treeEntry{{"100644", "a", blob}, {"100755", "a", blob}}, "twice"},
		"a directory and a file":           {[]treeEntry{{modeDir, "a", tree}, {"100755", "a", blob}}, "twice"},
		"a link out, and a file beyond it": {[]treeEntry{{modeLink, "a", link}, {modeDir, "a", tree}}, ""},
		"a name without end":               {[]treeEntry{{"100644", strings.Repeat("x", 300), blob}}, "255"},
		"a device":                         {[]treeEntry{{"020666", "null", blob}}, "mode"},
		"a file that is a directory":       {[]treeEntry{{"100644", "a", tree}}, "damaged"},
		"a directory that is a file":       {[]treeEntry{{modeDir, "a", blob}}, "damaged"},
		"no name":                          {[]treeEntry{{"100644", "", blob}}, "not a valid name of a file"},
		"a file that is not there":         {[]treeEntry{{"100644", "a", hash("1")}}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			rawTree(t, r, c.entries)
			found := look(t, m, Upstream{URL: "file://" + r.Tree()}, main)
			dir := t.TempDir()
			err := found.Fetch(patient(t), dir)
			if c.word == "" {
				// The link leads out of the tree and is excluded, so it does not conflict with the directory.
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(map[string]string{"a/main.tf": "one"}, treeOf(t, dir)); diff != "" {
					t.Error(diff)
				}
				return
			}
			wantFailure(t, err, ReasonOperation, c.word)
		})
	}
}

func TestLimits(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	// A megabyte of zeros is a kilobyte on the wire.
	r.Commit(t, "first", gittest.Files{"zeros": strings.Repeat("\x00", 1<<20), "noise": noise(300 << 10), "a": "1", "b": "2"})
	for name, c := range map[string]struct {
		options Options
		word    string
	}{
		"bytes on the wire": {Options{MaxPack: 200 << 10}, "fetched"},
		"a file":            {Options{MaxObject: 1<<20 - 1}, "MiB"},
		"all files":         {Options{MaxTree: 1 << 20}, "bytes"},
		"entries":           {Options{MaxEntries: 3}, "files and directories"},
	} {
		t.Run(name, func(t *testing.T) {
			found := look(t, open(t, c.options), Upstream{URL: r.URL()}, main)
			wantFailure(t, found.Fetch(patient(t), t.TempDir()), ReasonOperation, "too big", c.word)
		})
	}
	if got := fetched(t, look(t, open(t, Options{MaxPack: 400 << 10, MaxObject: 1 << 20, MaxEntries: 4}), Upstream{URL: r.URL()}, main)); len(got) != 4 {
		t.Errorf("the tree is %d files", len(got))
	}
}

func TestSubmodules(t *testing.T) {
	server := gittest.New(t, gittest.BasicAuth("reader", "s3cret"))
	other := gittest.New(t)
	inner := server.Repository(t, "inner")
	inner.Commit(t, "first", gittest.Files{"inner.tf": "inner"})
	// No branch or tag names this commit.
	lib := server.Repository(t, "lib")
	lib.Commit(t, "first", gittest.Files{"lib.tf": "old"})
	lib.Git(t, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", inner.Path(), "deep/inner")
	setURL(t, lib, "deep/inner", "../inner.git")
	pinned := lib.Commit(t, "second", gittest.Files{"lib.tf": "pinned"})
	lib.Commit(t, "third", gittest.Files{"lib.tf": "new"})
	lib.Git(t, "-C", lib.Path(), "config", "uploadpack.allowAnySHA1InWant", "false")
	away := other.Repository(t, "away")
	away.Commit(t, "first", gittest.Files{"away.tf": "away"})

	app := server.Repository(t, "app")
	app.Git(t, "submodule", "add", "--quiet", lib.Path(), "lib")
	app.Git(t, "-C", "lib", "checkout", "--quiet", pinned)
	app.Git(t, "submodule", "add", "--quiet", away.Path(), "away")
	setURL(t, app, "lib", "../lib.git")
	setURL(t, app, "away", away.URL())
	app.Commit(t, "first", gittest.Files{"main.tf": "one"})

	m := open(t, Options{})
	up := Upstream{URL: app.URL(), Secret: map[string][]byte{"username": []byte("reader"), "password": []byte("s3cret")}}
	without := look(t, m, up, main)
	with := look(t, m, up, Want{Ref: main.Ref, Submodules: true})
	if without.ContentKey == with.ContentKey {
		t.Error("the trees with and without submodules have equal keys")
	}
	modules := app.Git(t, "show", "HEAD:.gitmodules") + "\n"
	if diff := cmp.Diff(map[string]string{"main.tf": "one", "lib": "/", "away": "/", ".gitmodules": modules}, fetched(t, without)); diff != "" {
		t.Errorf("without submodules (-want +got):\n%s", diff)
	}
	got := fetched(t, with)
	delete(got, "lib/.gitmodules")
	want := map[string]string{
		"main.tf": "one", ".gitmodules": modules, "lib/lib.tf": "pinned", "lib/deep/inner/inner.tf": "inner", "away/away.tf": "away",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with submodules (-want +got):\n%s", diff)
	}

	setURL(t, app, "away", "file:///etc")
	app.Commit(t, "second", nil)
	wantFailure(t, look(t, m, up, Want{Ref: main.Ref, Submodules: true}).Fetch(patient(t), t.TempDir()), ReasonOperation, "away", "server's disk")
	setURL(t, app, "away", "../app.git")
	app.Git(t, "-C", "away", "pull", "--quiet", app.Path(), "main", "--allow-unrelated-histories", "--rebase")
	wantFailure(t, look(t, open(t, Options{MaxEntries: 1}), up, Want{Ref: main.Ref, Submodules: true}).Fetch(patient(t), t.TempDir()), ReasonOperation, "too big")
}

// setURL sets the URL of a submodule.
func setURL(t *testing.T, r *gittest.Repository, name, at string) {
	t.Helper()
	r.Git(t, "config", "--file", ".gitmodules", "submodule."+name+".url", at)
}

func FuzzSubmodules(f *testing.F) {
	f.Add([]byte("[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n"), "../lib.git")
	f.Add([]byte("[submodule \"../x\"]\n\tpath = ../x\n\turl = git@h:x\n"), "git@h:x")
	f.Fuzz(func(t *testing.T, modules []byte, at string) {
		m := &mirror{up: Upstream{URL: "https://h/org/app", Secret: map[string][]byte{"password": []byte("s3cret")}}}
		_ = m.placeSubmodules(t.Context(), []submodule{{path: "elsewhere"}}, modules, t.TempDir(), &budget{}, 0) // It must not panic.
		up, err := submoduleOf(m.up, at)
		if err == nil && up.Secret != nil && !strings.HasPrefix(up.URL, "https://h/") {
			t.Errorf("%q: the credentials go to %s", at, up.URL)
		}
	})
}
