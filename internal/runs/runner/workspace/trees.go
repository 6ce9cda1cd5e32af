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

// Unpacking a source once per root module would be slow, so Trees unpacks the latest sources once,
// out of tofu's reach, and each working directory gets a copy of its part. Hard links would let one
// stack write the files of another, and programs treat symbolic links differently.

// Trees are the shared unpacked sources, by digest. They do not survive a reboot: unsynced files
// may be missing without a trace.
type Trees struct {
	Dir    string
	Unpack *Locks
	mu     sync.Mutex
	users  map[string]int
	order  []string // the last used one is last
	Sizes  map[string]int64
}

// NewTrees keeps unpacked sources in a directory, which it creates when needed.
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

// Unpacked records the size of a tree.
func (t *Trees) Unpacked(name string, manifest archive.Manifest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Sizes[name] = 0
	for _, file := range manifest.Files {
		t.Sizes[name] += file.Size
	}
}

// latest returns the last used trees within the limits, and at least one.
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

// clear removes the least recently used trees, and those of earlier runners; t.mu is held.
func (t *Trees) clear() {
	keep := t.latest()
	entries, _ := os.ReadDir(t.Dir) // without it there is nothing to remove
	for _, entry := range entries {
		name, _, _ := strings.Cut(strings.TrimPrefix(entry.Name(), "."), ".")
		if t.users[name] == 0 && !slices.Contains(keep, name) {
			_ = os.RemoveAll(filepath.Join(t.Dir, entry.Name())) // the next call tries again
		}
	}
	keep = slices.Clone(keep) // it shares memory with t.order
	t.order = slices.DeleteFunc(t.order, func(name string) bool { return t.users[name] == 0 && !slices.Contains(keep, name) })
	maps.DeleteFunc(t.Sizes, func(name string, _ int64) bool { return !slices.Contains(t.order, name) })
}

const (
	MaxTrees     = 4
	MaxTreeBytes = 4 << 30
	// SmallArchive is the size up to which unpacking is cheaper than sharing.
	SmallArchive = 16 << 10
)
