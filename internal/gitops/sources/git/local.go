// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// localRemote is a repository on this machine's disk. It is its own mirror, and is only read.
type localRemote struct{ git string }

// newLocal finds the repository. It resolves links first, so that none leads out of the allowed
// directories.
func newLocal(e *endpoint, dirs []string) (*localRemote, error) {
	fail := func(problem error) (*localRemote, error) {
		return nil, explain("open", Upstream{URL: e.url.String()}, problem)
	}
	if len(dirs) == 0 {
		return fail(impossible("repositories on the server's disk are not allowed; its administrator may allow a directory with --file-sources"))
	}
	path, err := filepath.EvalSymlinks(filepath.Clean(e.url.Path))
	if err != nil {
		path = "" // do not reveal whether a path outside exists
	}
	if !below(path, dirs) {
		return fail(wrongRef("it is not below the directories that --file-sources allows"))
	}
	for _, git := range []string{filepath.Join(path, ".git"), path} {
		// From here on links are not followed.
		if info, err := os.Lstat(git); err != nil || !info.IsDir() {
			continue
		}
		head, err := os.Lstat(filepath.Join(git, "HEAD"))
		objects, missing := os.Lstat(filepath.Join(git, "objects"))
		if err == nil && missing == nil && head.Mode().IsRegular() && objects.IsDir() {
			return &localRemote{git: git}, nil
		}
	}
	return fail(wrongRef("there is no repository; name its directory, or the bare one (a worktree of another repository is not supported)"))
}

func below(path string, dirs []string) bool {
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			continue
		}
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func (l *localRemote) list(ctx context.Context) (*advert, error) {
	o := openObjects(l.git)
	defer o.Close()
	given := &advert{refs: map[string]plumbing.Hash{}, peeled: map[string]plumbing.Hash{}, caps: capability.NewList()}
	refs, err := o.storage.IterReferences()
	if err != nil {
		return nil, errNotGit
	}
	symbolic := map[string]string{}
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		name := ref.Name().String()
		if ref.Type() == plumbing.SymbolicReference {
			symbolic[name] = ref.Target().String()
			return ctx.Err()
		}
		given.refs[name] = ref.Hash()
		if strings.HasPrefix(name, "refs/tags/") {
			if commit, err := o.peel(ref.Hash()); err == nil && commit != ref.Hash() {
				given.peeled[name] = commit
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for name, at := range symbolic {
		if hash, has := given.refs[at]; has {
			given.refs[name] = hash
		}
	}
	if len(given.refs) == 0 {
		return nil, errEmpty
	}
	return given, nil
}

func (l *localRemote) receive(context.Context, func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	return nil, impossible("repositories on the server's disk are only read; use an https:// or ssh:// URL to push")
}

func (l *localRemote) upload(context.Context, *advert, func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	return nil, errors.New("fetch from a repository on the same disk. This is a bug in Yuba")
}
