// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repository is a clone on this machine.
type Repository struct {
	// Root is the directory of the working tree.
	Root string
	git  string
}

// NoRepositoryError means that a directory is not in a working tree.
type NoRepositoryError struct {
	Dir    string
	Reason string
}

func (e *NoRepositoryError) Error() string {
	return fmt.Sprintf("%s is not in the working tree of a git repository: %s", e.Dir, e.Reason)
}

// Open finds the repository that a directory is in.
func Open(ctx context.Context, dir string) (*Repository, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find the program git, which reads the local repository: %w", err)
	}
	r := &Repository{Root: dir, git: program}
	root, err := r.run(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, &NoRepositoryError{dir, firstOf(err)}
	}
	r.Root = filepath.FromSlash(strings.TrimRight(root, "\n"))
	return r, nil
}

// passed are the variables that git gets of ours: where programs and its configuration are.
var passed = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	"SYSTEMROOT", "USERPROFILE", "TMPDIR", "TEMP"}

func environment(more []string) []string {
	env := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat"}
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

// gitError is a failure of git.
type gitError struct {
	command, said string
	err           error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

func firstOf(err error) string {
	var failed *gitError
	if errors.As(err, &failed) && failed.said != "" {
		return failed.said
	}
	return err.Error()
}

// maxSaid limits what git says.
const maxSaid = 64 << 10

// run runs git in the root, and returns what it prints.
func (r *Repository) run(ctx context.Context, env []string, args ...string) (string, error) {
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, r.git, args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = r.Root, environment(env), &out, &capped{&said, maxSaid}
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &gitError{args[0], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(said.String()), "fatal:")), err}
	}
	return out.String(), nil
}

// capped forgets what is beyond a limit.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(len(p), c.left)
	c.left -= keep
	if _, err := c.w.Write(p[:keep]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ask returns the answer of git without its newline; empty if there is none.
func (r *Repository) ask(ctx context.Context, args ...string) string {
	out, err := r.run(ctx, nil, args...)
	if err != nil {
		return ""
	}
	return strings.TrimRight(out, "\n")
}

// Addresses are those of the remotes, as they are configured and as git rewrites them, and the
// directory itself: a GitRepository can follow it on the same machine.
func (r *Repository) Addresses(ctx context.Context) []string {
	texts := strings.Fields(r.ask(ctx, "config", "--get-regexp", `^remote\..*\.(url|pushurl)$`))
	for line := range strings.Lines(r.ask(ctx, "remote", "-v")) {
		_, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		url, _, _ := strings.Cut(rest, " (")
		texts = append(texts, url)
	}
	texts = append(texts, filepath.ToSlash(r.Root))
	var out []string
	for _, text := range texts {
		if address, ok := Address(text); ok && !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	return out
}

// Branch is the current branch; empty if there is none.
func (r *Repository) Branch(ctx context.Context) string {
	return r.ask(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
}

// DefaultBranch is the default branch of the remote origin, as this clone knows it.
func (r *Repository) DefaultBranch(ctx context.Context) string {
	return strings.TrimPrefix(r.ask(ctx, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"), "origin/")
}

// Resolve returns the commit that a name means: of this clone, or else of its remote origin.
func (r *Repository) Resolve(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, "-") || name == "" {
		return "", fmt.Errorf("%q is not a commit or branch", name)
	}
	for _, candidate := range []string{name, "refs/remotes/origin/" + name} {
		if commit := r.ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", candidate+"^{commit}"); commit != "" {
			return commit, nil
		}
	}
	return "", fmt.Errorf("this clone does not have the commit or branch %q. Fetch it, or clone with the whole history", name)
}

// Has reports whether this clone has a commit.
func (r *Repository) Has(ctx context.Context, commit string) bool {
	_, err := r.run(ctx, nil, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// Contains reports whether a commit is among the ancestors of another one, or the same.
func (r *Repository) Contains(ctx context.Context, commit, ancestor string) bool {
	_, err := r.run(ctx, nil, "merge-base", "--is-ancestor", ancestor, commit)
	return err == nil
}

// MergeBase is the commit at which two commits parted.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.run(ctx, nil, "merge-base", a, b)
	if err != nil {
		return "", fmt.Errorf("find where %s and %s parted: %w. A shallow clone does not know it: fetch the whole history", short(a), short(b), err)
	}
	return strings.TrimSpace(out), nil
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func split(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}
