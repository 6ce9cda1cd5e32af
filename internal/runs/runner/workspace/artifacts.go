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

// Many stacks come from one source, and all of them want its archive at the same time: when somebody commits. The latest
// archives are kept, so that each is fetched once.

const (
	MaxArtifacts     = 32
	maxArtifactBytes = 512 << 20
)

// Artifacts are the archives that are kept, by digest, in a directory of their own.
type Artifacts struct {
	Dir   string
	Fetch *Locks
	mu    sync.Mutex // guards what is in the directory against being cleared by two
}

// NewArtifacts keeps archives in a directory, which is made when the first one comes.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{Dir: dir, Fetch: NewLocks()} }

// HexDigest matches the digest of an archive. The name of its file is the digest without the algorithm.
var HexDigest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// Open opens an archive that is kept.
func (a *Artifacts) Open(name string) (*os.File, error) {
	path := filepath.Join(a.Dir, name)
	file, err := os.Open(path)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // one that looks older than it is goes earlier
	}
	return file, err
}

// Keep takes an archive in whose content was held against its digest. Without room for it, on disk or by the limits, it
// is fetched again.
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

// clear removes the archives that were not used for longest, as many as are too many.
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
			_ = os.Remove(filepath.Join(a.Dir, info.Name())) // who has it open reads on
		}
	}
}

// Drop removes an archive that is not what it should be.
func (a *Artifacts) Drop(name string) { _ = os.Remove(filepath.Join(a.Dir, name)) }
