// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Files is what a commit holds beside what was there: a path, with slashes, and its content. Absent removes a file.
type Files map[string]string

// Absent as a file's content removes the file.
const Absent = "\x00absent"

// Repository is a repository of a server, and its work tree. Its methods are for one test at a time.
type Repository struct {
	server     *Server
	name, tree string
}

// Repository makes an empty repository whose branch will be main.
func (s *Server) Repository(t T, name string) *Repository {
	t.Helper()
	r := &Repository{server: s, name: name, tree: filepath.Join(s.dir, "trees", name)}
	for _, dir := range []string{s.bare(name), r.tree} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("make repository %s: %v", name, err)
		}
	}
	r.run(t, s.bare(name), "init", "--quiet", "--bare", "--initial-branch=main")
	// Clients may ask for a commit by its name, for part of the history and for part of the objects, as the large hosts allow.
	for _, setting := range []string{"uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"} {
		r.run(t, s.bare(name), "config", setting, "true")
	}
	r.Git(t, "init", "--quiet", "--initial-branch=main")
	r.Git(t, "remote", "add", "origin", s.bare(name))
	return r
}

// URL is where the repository is served over HTTP.
func (r *Repository) URL() string { return r.server.URL(r.name) }

// Path is the bare repository's directory, for file:// URLs.
func (r *Repository) Path() string { return r.server.bare(r.name) }

// Tree is the work tree's directory.
func (r *Repository) Tree() string { return r.tree }

// Git runs git in the work tree and returns what it printed.
func (r *Repository) Git(t T, args ...string) string {
	t.Helper()
	return r.run(t, r.tree, args...)
}

func (r *Repository) run(t T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-c", "safe.directory=*", "-c", "protocol.file.allow=always"}, args...)...)
	command.Dir, command.Env = dir, r.server.environment()
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("git %s in %s: %v\n%s%s", strings.Join(args, " "), r.name, err, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String())
}

// Commit writes the files, commits everything in the work tree, publishes the branch and returns the commit's name.
func (r *Repository) Commit(t T, message string, files Files) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(r.tree, filepath.FromSlash(name))
		if content == Absent {
			if err := os.RemoveAll(path); err != nil {
				t.Fatalf("remove %s: %v", name, err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	r.Git(t, "add", "--all")
	r.Git(t, "commit", "--quiet", "--allow-empty", "--message", message)
	r.Push(t)
	return r.Head(t)
}

// CommitTree makes the work tree equal to a directory, and commits and publishes that.
func (r *Repository) CommitTree(t T, message, dir string) string {
	t.Helper()
	r.Git(t, "rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
	files := Files{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	return r.Commit(t, message, files)
}

// Push publishes what the work tree has checked out, whatever was published before, and all tags.
func (r *Repository) Push(t T) {
	t.Helper()
	r.Git(t, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+r.Branch(t))
	r.Git(t, "push", "--quiet", "--force", "--tags", "origin")
}

// Tag names what is checked out, moves the tag if there is one of that name, and publishes it.
func (r *Repository) Tag(t T, name string) {
	t.Helper()
	r.Git(t, "tag", "--force", name)
	r.Push(t)
}

// Switch checks a branch out, makes it if there is none, and publishes it.
func (r *Repository) Switch(t T, branch string) {
	t.Helper()
	if r.Git(t, "branch", "--list", branch) == "" {
		r.Git(t, "switch", "--quiet", "--create", branch)
	} else {
		r.Git(t, "switch", "--quiet", branch)
	}
	r.Push(t)
}

// Rewind goes back to a commit, as before a force push: what is committed next replaces what came after it.
func (r *Repository) Rewind(t T, commit string) {
	t.Helper()
	r.Git(t, "reset", "--quiet", "--hard", commit)
}

// Branch is the branch that is checked out.
func (r *Repository) Branch(t T) string {
	t.Helper()
	return r.Git(t, "symbolic-ref", "--short", "HEAD")
}

// Head is the name of the commit that is checked out.
func (r *Repository) Head(t T) string {
	t.Helper()
	return r.Git(t, "rev-parse", "HEAD")
}
