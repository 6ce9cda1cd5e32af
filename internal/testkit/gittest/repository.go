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

// Files are the changed files of a commit: paths, with slashes, and contents. Absent removes a file.
type Files map[string]string

// Absent is the content of a removed file.
const Absent = "\x00absent"

// Repository is a repository of a server with a work tree. It is for one test at a time.
type Repository struct {
	server     *Server
	name, tree string
}

// Repository creates an empty repository with the branch main.
func (s *Server) Repository(t T, name string) *Repository {
	t.Helper()
	r := &Repository{server: s, name: name, tree: filepath.Join(s.dir, "trees", name)}
	for _, dir := range []string{s.bare(name), r.tree} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("create repository %s: %v", name, err)
		}
	}
	r.run(t, s.bare(name), "init", "--quiet", "--bare", "--initial-branch=main")
	// Like large hosts, allow requests for any commit, and for parts of the objects.
	for _, setting := range []string{"uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"} {
		r.run(t, s.bare(name), "config", setting, "true")
	}
	r.Git(t, "init", "--quiet", "--initial-branch=main")
	r.Git(t, "remote", "add", "origin", s.bare(name))
	return r
}

// URL returns the repository's HTTP URL.
func (r *Repository) URL() string { return r.server.URL(r.name) }

// Path returns the bare repository's directory, for file:// URLs.
func (r *Repository) Path() string { return r.server.bare(r.name) }

// Tree returns the work tree's directory.
func (r *Repository) Tree() string { return r.tree }

// Git runs git in the work tree, and returns its output.
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

// Commit writes the files, commits the work tree, pushes the branch, and returns the commit's hash.
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

// CommitTree replaces the work tree by a directory, commits it, and pushes the branch.
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

// Push pushes the current branch, with force, and all tags.
func (r *Repository) Push(t T) {
	t.Helper()
	r.Git(t, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+r.Branch(t))
	r.Git(t, "push", "--quiet", "--force", "--tags", "origin")
}

// Tag tags the current commit, with force, and pushes the tag.
func (r *Repository) Tag(t T, name string) {
	t.Helper()
	r.Git(t, "tag", "--force", name)
	r.Push(t)
}

// Switch checks out a branch, creates it if needed, and pushes it.
func (r *Repository) Switch(t T, branch string) {
	t.Helper()
	if r.Git(t, "branch", "--list", branch) == "" {
		r.Git(t, "switch", "--quiet", "--create", branch)
	} else {
		r.Git(t, "switch", "--quiet", branch)
	}
	r.Push(t)
}

// Rewind resets the branch to a commit; the next commit replaces later ones.
func (r *Repository) Rewind(t T, commit string) {
	t.Helper()
	r.Git(t, "reset", "--quiet", "--hard", commit)
}

// Branch returns the current branch.
func (r *Repository) Branch(t T) string {
	t.Helper()
	return r.Git(t, "symbolic-ref", "--short", "HEAD")
}

// Head returns the hash of the current commit.
func (r *Repository) Head(t T) string {
	t.Helper()
	return r.Git(t, "rev-parse", "HEAD")
}
