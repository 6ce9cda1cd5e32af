// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/testkit/usertest"
)

// chain makes directories in each other.
func chain(t *testing.T, dir string, depth int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	for range depth {
		if err != nil {
			t.Fatal(err)
		}
		var inner int
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			inner, err = unix.Openat(at, "d", unix.O_DIRECTORY, 0)
		}
		err = errors.Join(err, unix.Close(at))
		at = inner
	}
	if err := errors.Join(err, unix.Close(at)); err != nil {
		t.Fatal(err)
	}
}

// tree makes files, links and directories, by names that end in a slash.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		at := filepath.Join(dir, name)
		var err error
		switch name[len(name)-1] {
		case '/':
			err = os.MkdirAll(at, 0o700)
		case '@':
			err = os.Symlink("/", at)
		default:
			err = os.WriteFile(at, []byte("x"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWalkVisitsEachNameOnceAndFollowsNoLink(t *testing.T) {
	want := []string{"a/", "a/b/", "a/b/f", "a/link@", "skipped/", "top"}
	dir := tree(t, append(slices.Clone(want), "skipped/inside")...)
	var got []string
	err := Walk(dir, Bounds{}, func(path string, stat *unix.Stat_t) error {
		if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			got = append(got, path+"/")
		} else {
			got = append(got, path)
		}
		if path == "skipped" {
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWalkKeepsItsBounds(t *testing.T) {
	dir := tree(t)
	for i := range 3 * chunk {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	visited := int64(0)
	visit := func(string, *unix.Stat_t) error { visited++; return nil }
	var over *OverError
	if err := Walk(dir, Bounds{Entries: 3 * chunk}, visit); err != nil || visited != 3*chunk {
		t.Errorf("%d visited: %v", visited, err)
	}
	visited = 0
	if err := Walk(dir, Bounds{Entries: 100}, visit); !errors.As(err, &over) || over.Entries != 100 || visited != 100 {
		t.Errorf("%d visited: %v", visited, err)
	}
	deep := tree(t)
	chain(t, deep, 5000)
	visited = 0
	if err := Walk(deep, Bounds{}, visit); !errors.As(err, &over) || over.Depth != MaxDepth || visited != MaxDepth {
		t.Errorf("%d visited: %v", visited, err)
	}
	remove(t, deep)
}

func remove(t *testing.T, dir string) {
	t.Helper()
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	if err := Remove(parent, filepath.Base(dir)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", dir, err)
	}
}

// A walk changes the modes of no directories but those that it could not look into otherwise, and
// removing takes them all.
func TestLenientWalksLeaveModesAlone(t *testing.T) {
	modes := map[string]fs.FileMode{"readable": 0o555, "passable": 0o511, "own": 0o500, "unreadable": 0o300, "impassable": 0o600, "locked": 0}
	dir := tree(t)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil { // another user looks into it, too
		t.Fatal(err)
	}
	for name, mode := range modes {
		inside := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(inside, 0o700), os.WriteFile(filepath.Join(inside, "file"), nil, 0o600), os.Chmod(inside, mode)); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Lchown(inside, usertest.User, usertest.User); err != nil {
				t.Fatal(err)
			}
		}
	}
	walk := func(want map[string]fs.FileMode) {
		t.Helper()
		files := 0
		err := Walk(dir, Bounds{Lenient: true}, func(path string, _ *unix.Stat_t) error {
			if filepath.Base(path) == "file" {
				files++
			}
			return nil
		})
		if err != nil || files != len(modes) {
			t.Errorf("%d of %d files were seen: %v", files, len(modes), err)
		}
		for name := range modes {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want[name] {
				t.Errorf("%s has become %o: %v", name, info.Mode().Perm(), err)
			}
		}
	}
	if os.Geteuid() == 0 {
		walk(modes) // root looks into everything
		usertest.Become(t)
	}
	walk(map[string]fs.FileMode{"readable": 0o555, "passable": 0o511, "own": 0o500, "unreadable": 0o700, "impassable": 0o700, "locked": 0o700})
}

func TestRemoveTakesAnyTree(t *testing.T) {
	remove(t, filepath.Join(t.TempDir(), "nothing"))
	remove(t, filepath.Join(tree(t, "file"), "file"))
	remove(t, filepath.Join(tree(t, "link@"), "link@"))
	// Names that the removal itself uses are in its way.
	bushy := tree(t, ".removed-1/", ".removed-2/full/", ".removed-3", "a/b/c/", "a/b/c/link@")
	chain(t, bushy, 300)
	chain(t, filepath.Join(bushy, "a"), 300)
	chain(t, filepath.Join(bushy, "a/b"), 300)
	remove(t, bushy)
}

// opened is how many descriptors this process has.
func opened(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNoDescriptorStays(t *testing.T) {
	dir := tree(t)
	chain(t, dir, 500)
	before := opened(t)
	for range 20 {
		_ = Walk(dir, Bounds{}, func(string, *unix.Stat_t) error { return nil }) // it is too deep
	}
	remove(t, dir)
	if after := opened(t); after > before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}
