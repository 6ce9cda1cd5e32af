// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/yuba-dev/yuba/internal/archive"
)

var (
	errNoDirs  = errors.New("repositories on the server's disk are not allowed; its administrator may allow a directory with --file-sources")
	errOutside = errors.New("it is not below the directories that --file-sources allows")
)

// localRemote is a repository on this machine's disk. It is its own mirror: nothing is copied, only
// read.
type localRemote struct{ git string }

// newLocal finds the repository. Links are followed first, so that none leads out of the
// directories that are allowed.
func newLocal(e *endpoint, dirs []string) (*localRemote, error) {
	fail := func(err error) error {
		reason, text, stalled := classify(err)
		return &archive.FetchError{Reason: reason, Message: fmt.Sprintf("open %s: %s", show(e.url.String()), text), Stalled: stalled, Err: err}
	}
	if len(dirs) == 0 {
		return nil, fail(errNoDirs)
	}
	path, err := filepath.EvalSymlinks(filepath.Clean(e.url.Path))
	if err != nil {
		path = "" // Whether something is there is nothing to tell about what lies outside.
	}
	if !below(path, dirs) {
		return nil, fail(errOutside)
	}
	for _, git := range []string{filepath.Join(path, ".git"), path} {
		// No link is followed from here on.
		if info, err := os.Lstat(git); err != nil || !info.IsDir() {
			continue
		}
		head, err := os.Lstat(filepath.Join(git, "HEAD"))
		objects, missing := os.Lstat(filepath.Join(git, "objects"))
		if err == nil && missing == nil && head.Mode().IsRegular() && objects.IsDir() {
			return &localRemote{git: git}, nil
		}
	}
	return nil, fail(&refError{text: "there is no repository; name its directory, or the bare one (a worktree of another repository is not supported)"})
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

func (l *localRemote) upload(context.Context, *advert, func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	return nil, errors.New("nothing is fetched from a repository on the same disk; this is a bug in Yuba")
}
