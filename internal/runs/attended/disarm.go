// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// madePrefix begins the names that disarmed parts of repositories get.
const madePrefix = "made-by-tofu-"

// ground is a directory that a call may write. It is opened before the call, which may put a link in its place.
type ground struct {
	*os.Root
	// known are the repositories without a .git that were there before. A .git was not, or the call could not
	// write beside it.
	known map[string]bool
}

// watch opens the directories that a call may write. A file that has gone since is none.
func watch(writable []string) (grounds []ground, err error) {
	for _, dir := range writable {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || filepath.Base(dir) == tofuDir {
			continue
		}
		root, err := os.OpenRoot(dir)
		if errors.Is(err, fs.ErrPermission) && ofOthers(info) {
			continue // the call cannot enter it, either
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open what tofu may write: %w", err), leave(grounds))
		}
		g := ground{root, map[string]bool{}}
		grounds = append(grounds, g)
		heads, err := headsIn(root.FS(), func(string, fs.DirEntry) {})
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, errors.Join(fmt.Errorf("look for repositories in %s: %w", dir, err), leave(grounds))
		}
		for _, name := range heads {
			g.known[name] = !isGit(path.Base(name))
		}
	}
	return grounds, nil
}

func leave(grounds []ground) (err error) {
	for _, g := range grounds {
		err = errors.Join(err, g.Close())
	}
	return err
}

// disarm renames what makes git take a directory for a repository, where the call made it: git would run its
// hooks and settings outside of the sandbox, for a person who enters the directory.
func disarm(grounds []ground, said func(was, is string)) (err error) {
	for _, g := range grounds {
		if problem := g.disarm(said); problem != nil {
			err = errors.Join(err, fmt.Errorf("rename the git repositories that tofu made in %s. Remove them before you use git there: %w", g.Name(), problem))
		}
	}
	return errors.Join(err, leave(grounds))
}

func (g ground) disarm(said func(was, is string)) (err error) {
	var opened []mode
	heads, err := headsIn(g.FS(), func(name string, e fs.DirEntry) { opened = g.open(opened, name, e) })
	defer func() {
		for _, was := range slices.Backward(opened) {
			err = errors.Join(err, g.Chmod(was.name, was.bits))
		}
	}()
	for _, name := range heads {
		if g.known[name] {
			continue
		}
		to := g.free(name)
		if problem := g.Rename(name, to); problem != nil {
			err = errors.Join(err, problem) // a decoy must not save the others
			continue
		}
		if said != nil {
			said(filepath.Join(g.Name(), name), filepath.Join(g.Name(), to))
		}
	}
	return err
}

// kept are the bits of a mode that a directory gets back: a set-group-ID directory would else give its files another group.
const kept = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// mode is what a directory had before it was opened.
type mode struct {
	name string
	bits fs.FileMode
}

// open lets this process read and change a directory: a call can take these rights away to hide a repository, as git needs
// none of them.
func (g ground) open(opened []mode, name string, e fs.DirEntry) []mode {
	const rights = 0o700
	info, err := e.Info()
	if err != nil || info.Mode()&rights == rights || g.Chmod(name, info.Mode()&kept|rights) != nil {
		return opened
	}
	return append(opened, mode{name, info.Mode() & kept})
}

// free is the name that something gets.
func (g ground) free(name string) string {
	base := madePrefix + strings.TrimPrefix(strings.ToLower(path.Base(name)), ".")
	for i := 0; ; i++ {
		to := path.Join(path.Dir(name), fmt.Sprintf("%s-%d", base, i))
		if _, err := g.Lstat(to); err != nil {
			return to
		}
	}
}

// headsIn are the .git, and the HEAD of each repository without one: git takes a directory with a HEAD and
// objects, or with the address of another one's, for a repository. A directory that cannot be read is an error beside the
// names, unless it is another user's. entering is called before a directory is read.
func headsIn(fsys fs.FS, entering func(name string, e fs.DirEntry)) (names []string, err error) {
	var unread []error
	err = fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			if info, problem := fs.Lstat(fsys, name); problem != nil || !ofOthers(info) {
				unread = append(unread, err)
			}
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case isGit(path.Base(name)):
			names = append(names, name)
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir() && e.Name() == tofuDir:
			return fs.SkipDir
		case e.IsDir():
			entering(name, e)
		case strings.EqualFold(e.Name(), "HEAD") && bare(fsys, path.Dir(name)):
			names = append(names, name)
		}
		return nil
	})
	return names, errors.Join(append(unread, err)...)
}

// ofOthers reports whether something is another user's: no call made it, and git obeys no repository of others.
func ofOthers(info fs.FileInfo) bool {
	is, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(is.Uid) != os.Geteuid()
}

// bare reports whether a directory has what git wants beside a HEAD.
func bare(fsys fs.FS, dir string) bool {
	entries, _ := fs.ReadDir(fsys, dir) //nolint:errcheck // a directory that is gone has nothing
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "objects") || strings.EqualFold(e.Name(), "commondir") {
			return true
		}
	}
	return false
}
