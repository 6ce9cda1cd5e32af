// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// A source with a thousand root modules would be unpacked a thousand times to get at one of them each time. So the latest
// sources are unpacked once, beside the working directories, where no tofu can read or write, and each working directory
// gets a copy of its part. A copy, because a file that two directories share could be written to through one of them, and
// a link is not what a program takes it for.

const (
	maxTrees     = 4
	maxTreeBytes = 4 << 30
	// smallArchive is what is unpacked sooner than it is shared.
	smallArchive = 16 << 10
)

// trees are the sources that are unpacked for all, by digest. They are good until the machine is started anew: what was
// not yet on disk then may be missing, and no file says so.
type trees struct {
	dir    string
	unpack *locks
	mu     sync.Mutex
	users  map[string]int
	order  []string // the one that was used last comes last
	sizes  map[string]int64
}

func newTrees(dir string) *trees {
	return &trees{dir: dir, unpack: newLocks(), users: map[string]int{}, sizes: map[string]int64{}}
}

// use keeps a tree from being removed until leave is called.
func (t *trees) use(name string) (path string, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[name]++
	t.order = append(slices.DeleteFunc(t.order, func(other string) bool { return other == name }), name)
	return filepath.Join(t.dir, name), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.users[name]--; t.users[name] == 0 {
			delete(t.users, name)
		}
		t.clear()
	}
}

// unpacked takes note of how large a tree is.
func (t *trees) unpacked(name string, manifest archive.Manifest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sizes[name] = 0
	for _, file := range manifest.Files {
		t.sizes[name] += file.Size
	}
}

// latest are the trees that were used last, as many as there is to be room for, and one in any case.
func (t *trees) latest() []string {
	first, total := len(t.order), int64(0)
	for first > 0 && len(t.order)-first < maxTrees {
		if total += t.sizes[t.order[first-1]]; total > maxTreeBytes && first < len(t.order) {
			break
		}
		first--
	}
	return t.order[first:]
}

// clear removes the trees that were not used for longest, and those of runners before; t.mu is held.
func (t *trees) clear() {
	keep := t.latest()
	entries, _ := os.ReadDir(t.dir) // without it nothing is to be removed
	for _, entry := range entries {
		name, _, _ := strings.Cut(strings.TrimPrefix(entry.Name(), "."), ".")
		if t.users[name] == 0 && !slices.Contains(keep, name) {
			_ = os.RemoveAll(filepath.Join(t.dir, entry.Name())) // the next call tries again
		}
	}
	keep = slices.Clone(keep) // it is a part of what changes now
	t.order = slices.DeleteFunc(t.order, func(name string) bool { return t.users[name] == 0 && !slices.Contains(keep, name) })
	maps.DeleteFunc(t.sizes, func(name string, _ int64) bool { return !slices.Contains(t.order, name) })
}

// sharedTree is the whole source, unpacked. The path is good until leave is called.
func (s *source) sharedTree(ctx context.Context) (path string, leave func(), err error) {
	name := strings.TrimPrefix(s.task.spec.Artifact.Digest, "sha256:") + "-" + process.BootID()
	defer s.task.trees.unpack.lock(name)()
	path, leave = s.task.trees.use(name)
	if _, err := os.Stat(path); err == nil {
		return path, leave, nil
	}
	if err := os.MkdirAll(s.task.trees.dir, 0o700); err != nil {
		leave()
		return "", nil, fault.New(fault.DiskClass(err), "unpack the source: %w", err)
	}
	packed, err := s.artifact(ctx)
	if err != nil {
		leave()
		return "", nil, err
	}
	defer packed.Close()
	manifest, err := archive.Extract(ctx, packed, path, s.sourceLimits(), s.task.spec.Artifact.Digest)
	if err != nil {
		leave()
		return "", nil, s.unpackFailure(err)
	}
	s.task.trees.unpacked(name, manifest)
	return path, leave, nil
}

// shares tells whether the working directory gets its part from a tree that is unpacked for all. Where tofu is not
// confined nothing keeps it from that tree.
func (s *source) shares(p *run.Part) bool {
	return p != nil && s.task.walls.Hides() && s.task.spec.Artifact.Size > smallArchive && hexDigest.MatchString(s.task.spec.Artifact.Digest) && process.BootID() != ""
}

// unpackPart brings the run's part of the source into the new tree.
func (s *source) unpackPart(ctx context.Context, p *run.Part) (archive.Manifest, error) {
	tree, leave, err := s.sharedTree(ctx)
	if err != nil {
		return archive.Manifest{}, err
	}
	defer leave()
	manifest, err := archive.CopyPart(ctx, tree, filepath.Join(s.site.space.base, newSourceDir), p.Paths)
	if err != nil {
		return manifest, s.unpackFailure(err)
	}
	manifest.Digest = s.task.treeDigest()
	return manifest, nil
}

func (s *source) sourceLimits() archive.Limits {
	return archive.Limits{MaxPacked: s.task.spec.Limits.ArchiveBytes, MaxUnpacked: s.task.spec.Limits.UnpackedBytes, MaxEntries: int64(s.task.spec.Limits.Entries)}
}

// unpackFailure says what kind of failure it was that the source could not be unpacked.
func (s *source) unpackFailure(err error) error {
	class := run.FailureSource
	var limit *archive.LimitError
	switch {
	case fault.DiskFull(err):
		class = run.FailureDisk
	case errors.As(err, &limit):
		class = run.FailureLimit
	}
	return fault.New(class, "unpack revision %s of the source: %w", s.task.spec.Artifact.Revision, err)
}
