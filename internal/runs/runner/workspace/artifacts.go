// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// After a commit many stacks need the archive of one source at once. It is fetched once and kept.

const (
	MaxArtifacts     = 32
	maxArtifactBytes = 512 << 20
)

// Artifacts are the kept archives, by digest.
type Artifacts struct {
	Dir   string
	Fetch *Locks
	mu    sync.Mutex // serializes changes of the directory
}

// NewArtifacts keeps archives in a directory, which it creates when needed.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{Dir: dir, Fetch: NewLocks()} }

// HexDigest matches an archive's digest. The file name omits the algorithm.
var HexDigest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// Open opens a kept archive.
func (a *Artifacts) Open(name string) (*os.File, error) {
	path := filepath.Join(a.Dir, name)
	file, err := os.Open(path)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // on failure it is only removed earlier
	}
	return file, err
}

// Keep moves a verified archive in. On failure it is fetched again next time.
func (a *Artifacts) Keep(path, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return
	}
	if err := os.Rename(path, filepath.Join(a.Dir, name)); err != nil {
		return
	}
	a.clear()
}

// clear removes the least recently used archives beyond the limits.
func (a *Artifacts) clear() {
	entries, err := os.ReadDir(a.Dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	total := int64(0)
	for i, info := range files {
		if total += info.Size(); i >= MaxArtifacts || total > maxArtifactBytes {
			_ = os.Remove(filepath.Join(a.Dir, info.Name())) // open files stay readable
		}
	}
}

// Drop removes a damaged archive.
func (a *Artifacts) Drop(name string) { _ = os.Remove(filepath.Join(a.Dir, name)) }
