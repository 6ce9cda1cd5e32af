// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

const (
	archiveName = "artifact"
)

// syncTree makes the source tree equal to the artifact. Added files are removed; if others changed,
// the tree is unpacked again.
func (s *prepareStep) syncTree(ctx context.Context) error {
	w := s.site.Space
	if w.Record.Artifact == s.run.TreeDigest() && w.Record.Module == w.Module && s.sameTree() {
		return nil
	}
	manifest, err := s.unpack(ctx)
	if err != nil {
		return err
	}
	return w.ReplaceTree(manifest)
}

// unpack writes the source, or the part that the run reads, to the new tree.
func (s *prepareStep) unpack(ctx context.Context) (archive.Manifest, error) {
	if p := s.run.Part(); s.shares(p) {
		return s.unpackPart(ctx, p)
	}
	packed, err := s.artifact(ctx)
	if err != nil {
		return archive.Manifest{}, err
	}
	defer packed.Close()
	return s.extract(ctx, packed)
}

// belongs returns a filter of the entries to unpack; nil for all.
func (s *prepareStep) belongs() func(name string) bool {
	p := s.run.Part()
	if p == nil {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(p.Paths, func(at string) bool {
			return at == "." || name == at || strings.HasPrefix(name, at+"/")
		})
	}
}

// sameTree removes added files and reports whether the rest is unchanged.
func (s *prepareStep) sameTree() bool {
	plan := ""
	if s.run.Spec.Operation == run.OperationApply && s.run.Spec.Plan != nil {
		plan = s.run.Spec.Plan.Digest
	}
	same, differences := s.site.Space.SameTree(plan)
	if differences != "" {
		s.run.Log.Note("Unpacking the source again, because the working directory has changed: %s", differences)
	}
	return same
}

func (s *prepareStep) extract(ctx context.Context, packed io.Reader) (archive.Manifest, error) {
	manifest, err := archive.ExtractPart(ctx, packed, filepath.Join(s.site.Space.Base, workspace.NewSourceDir), s.sourceLimits(), s.run.Spec.Artifact.Digest, s.belongs())
	if err != nil {
		return manifest, s.unpackFailure(err)
	}
	manifest.Digest = s.run.TreeDigest()
	return manifest, nil
}

// sharedTree returns the unpacked whole source. The path is valid until leave is called.
func (s *prepareStep) sharedTree(ctx context.Context) (path string, leave func(), err error) {
	name := strings.TrimPrefix(s.run.Spec.Artifact.Digest, "sha256:") + "-" + process.BootID()
	defer s.run.Trees.Unpack.Lock(name)()
	path, leave = s.run.Trees.Use(name)
	if _, err := os.Stat(path); err == nil {
		return path, leave, nil
	}
	if err := os.MkdirAll(s.run.Trees.Dir, 0o700); err != nil {
		leave()
		return "", nil, fault.New(fault.DiskClass(err), "unpack the source: %w", err)
	}
	packed, err := s.artifact(ctx)
	if err != nil {
		leave()
		return "", nil, err
	}
	defer packed.Close()
	manifest, err := archive.Extract(ctx, packed, path, s.sourceLimits(), s.run.Spec.Artifact.Digest)
	if err != nil {
		leave()
		return "", nil, s.unpackFailure(err)
	}
	s.run.Trees.Unpacked(name, manifest)
	return path, leave, nil
}

// shares reports whether the run copies from a shared tree. Unconfined tofu could write to it.
func (s *prepareStep) shares(p *run.Part) bool {
	return p != nil && !s.run.Spec.Artifact.Transient && s.run.Walls.Hides() && s.run.Spec.Artifact.Size > workspace.SmallArchive && workspace.HexDigest.MatchString(s.run.Spec.Artifact.Digest) && process.BootID() != ""
}

// unpackPart writes the run's part of the source to the new tree.
func (s *prepareStep) unpackPart(ctx context.Context, p *run.Part) (archive.Manifest, error) {
	tree, leave, err := s.sharedTree(ctx)
	if err != nil {
		return archive.Manifest{}, err
	}
	defer leave()
	manifest, err := archive.CopyPart(ctx, tree, filepath.Join(s.site.Space.Base, workspace.NewSourceDir), p.Paths)
	if err != nil {
		return manifest, s.unpackFailure(err)
	}
	manifest.Digest = s.run.TreeDigest()
	return manifest, nil
}

func (s *prepareStep) sourceLimits() archive.Limits {
	return archive.Limits{MaxPacked: s.run.Spec.Limits.ArchiveBytes, MaxUnpacked: s.run.Spec.Limits.UnpackedBytes, MaxEntries: int64(s.run.Spec.Limits.Entries)}
}

// unpackFailure classifies a failure to unpack the source.
func (s *prepareStep) unpackFailure(err error) error {
	class := run.FailureSource
	var limit *archive.LimitError
	switch {
	case fault.DiskFull(err):
		class = run.FailureDisk
	case errors.As(err, &limit):
		class = run.FailureLimit
	}
	return fault.New(class, "unpack revision %s of the source: %w", s.run.Spec.Artifact.Revision, err)
}

// artifact opens the source's archive, from the cache or the server. Unpacking checks its digest.
func (s *prepareStep) artifact(ctx context.Context) (*os.File, error) {
	name := ""
	if m := workspace.HexDigest.FindStringSubmatch(s.run.Spec.Artifact.Digest); m != nil {
		name = m[1]
		defer s.run.Artifacts.Fetch.Lock(name)()
		if file, err := s.run.Artifacts.Open(name); err == nil {
			if workspace.DigestOfFile(file) == s.run.Spec.Artifact.Digest {
				return file, rewind(file)
			}
			file.Close()
			s.run.Artifacts.Drop(name)
		}
	}
	path, err := s.run.Fetch(ctx, "source", archiveName, cmp.Or(max(0, s.run.Spec.Limits.ArchiveBytes), run.DefaultLimits().ArchiveBytes))
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New("", "unpack the source: %w", err)
	}
	if name != "" && !s.run.Spec.Artifact.Transient && workspace.DigestOfFile(file) == s.run.Spec.Artifact.Digest {
		s.run.Artifacts.Keep(path, name)
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
