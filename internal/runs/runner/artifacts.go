// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// Many stacks come from one source, and all of them want its archive at the same time: when somebody commits. The latest
// archives are kept, so that each is fetched once.

const (
	maxArtifacts     = 32
	maxArtifactBytes = 512 << 20
)

// artifacts are the archives that are kept, by digest, in a directory of their own.
type artifacts struct {
	dir   string
	fetch *locks
	mu    sync.Mutex // guards what is in the directory against being cleared by two
}

func newArtifacts(dir string) *artifacts { return &artifacts{dir: dir, fetch: newLocks()} }

var hexDigest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// open opens an archive that is kept.
func (a *artifacts) open(name string) (*os.File, error) {
	path := filepath.Join(a.dir, name)
	file, err := os.Open(path)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // one that looks older than it is goes earlier
	}
	return file, err
}

// keep takes an archive in whose content was held against its digest. Without room for it, on disk or by the limits, it
// is fetched again.
func (a *artifacts) keep(path, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return
	}
	if err := os.Rename(path, filepath.Join(a.dir, name)); err != nil {
		return
	}
	a.clear()
}

// clear removes the archives that were not used for longest, as many as are too many.
func (a *artifacts) clear() {
	entries, err := os.ReadDir(a.dir)
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
		if total += info.Size(); i >= maxArtifacts || total > maxArtifactBytes {
			_ = os.Remove(filepath.Join(a.dir, info.Name())) // who has it open reads on
		}
	}
}

// drop removes an archive that is not what it should be.
func (a *artifacts) drop(name string) { _ = os.Remove(filepath.Join(a.dir, name)) }

// artifact opens the archive of the run's source: the one that is kept, else the server's. Its content is held against
// its digest when it is unpacked, in any case.
func (s *source) artifact(ctx context.Context) (*os.File, error) {
	name := ""
	if m := hexDigest.FindStringSubmatch(s.task.spec.Artifact.Digest); m != nil {
		name = m[1]
		defer s.task.artifacts.fetch.lock(name)()
		if file, err := s.task.artifacts.open(name); err == nil {
			if digestOfFile(file) == s.task.spec.Artifact.Digest {
				return file, rewind(file)
			}
			file.Close()
			s.task.artifacts.drop(name)
		}
	}
	path, err := s.task.fetch(ctx, "source", archiveName, cmp.Or(max(0, s.task.spec.Limits.ArchiveBytes), run.DefaultLimits().ArchiveBytes))
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New("", "unpack the source: %w", err)
	}
	if name != "" && digestOfFile(file) == s.task.spec.Artifact.Digest {
		s.task.artifacts.keep(path, name)
	}
	_ = os.Remove(path) // unless it is kept: the file that is open stays
	return file, rewind(file)
}

func rewind(file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return errors.Join(fault.New("", "unpack the source: %w", err), file.Close())
	}
	return nil
}

func digestOfFile(file *os.File) string {
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}
