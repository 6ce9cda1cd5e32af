// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/archive"
)

// A source with a thousand root modules would be unpacked a thousand times to get at one of them each time. So the latest
// sources are unpacked once, beside the working directories, where no tofu can read or write, and each working directory
// gets a copy of its part. A copy, because a file that two directories share could be written to through one of them, and
// a link is not what a program takes it for.

// Trees are the sources that are unpacked for all, by digest. They are good until the machine is started anew: what was
// not yet on disk then may be missing, and no file says so.
type Trees struct {
	Dir    string
	Unpack *Locks
	mu     sync.Mutex
	users  map[string]int
	order  []string // the one that was used last comes last
	Sizes  map[string]int64
}

// NewTrees keeps unpacked sources in a directory, which is made when the first one comes.
func NewTrees(dir string) *Trees {
	return &Trees{Dir: dir, Unpack: NewLocks(), users: map[string]int{}, Sizes: map[string]int64{}}
}

// Use keeps a tree from being removed until leave is called.
func (t *Trees) Use(name string) (path string, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[name]++
	t.order = append(slices.DeleteFunc(t.order, func(other string) bool { return other == name }), name)
	return filepath.Join(t.Dir, name), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.users[name]--; t.users[name] == 0 {
			delete(t.users, name)
		}
		t.clear()
	}
}

// Unpacked takes note of how large a tree is.
func (t *Trees) Unpacked(name string, manifest archive.Manifest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Sizes[name] = 0
	for _, file := range manifest.Files {
		t.Sizes[name] += file.Size
	}
}

// latest are the trees that were used last, as many as there is to be room for, and one in any case.
func (t *Trees) latest() []string {
	first, total := len(t.order), int64(0)
	for first > 0 && len(t.order)-first < MaxTrees {
		if total += t.Sizes[t.order[first-1]]; total > MaxTreeBytes && first < len(t.order) {
			break
		}
		first--
	}
	return t.order[first:]
}

// clear removes the trees that were not used for longest, and those of runners before; t.mu is held.
func (t *Trees) clear() {
	keep := t.latest()
	entries, _ := os.ReadDir(t.Dir) // without it nothing is to be removed
	for _, entry := range entries {
		name, _, _ := strings.Cut(strings.TrimPrefix(entry.Name(), "."), ".")
		if t.users[name] == 0 && !slices.Contains(keep, name) {
			_ = os.RemoveAll(filepath.Join(t.Dir, entry.Name())) // the next call tries again
		}
	}
	keep = slices.Clone(keep) // it is a part of what changes now
	t.order = slices.DeleteFunc(t.order, func(name string) bool { return t.users[name] == 0 && !slices.Contains(keep, name) })
	maps.DeleteFunc(t.Sizes, func(name string, _ int64) bool { return !slices.Contains(t.order, name) })
}

const (
	MaxTrees     = 4
	MaxTreeBytes = 4 << 30
	// SmallArchive is what is unpacked sooner than it is shared.
	SmallArchive = 16 << 10
)
