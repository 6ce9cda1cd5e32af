// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

const (
	newSourceDir = "src.new"
	manifestName = "manifest.json"
	archiveName  = "artifact"
)

// syncTree makes the source tree the artifact's. A tree of the same artifact stays: what was added to it is removed,
// and when something was changed or removed it is unpacked again.
func (s *source) syncTree(ctx context.Context) error {
	w := s.site.space
	if w.record.Artifact == s.task.treeDigest() && w.record.Module == w.module && s.sameTree() {
		return nil
	}
	manifest, err := s.unpack(ctx)
	if err != nil {
		return err
	}
	return w.replaceTree(manifest)
}

// unpack brings the source, or the part of it that the run reads, into the new tree.
func (s *source) unpack(ctx context.Context) (archive.Manifest, error) {
	if p := s.task.part(); s.shares(p) {
		return s.unpackPart(ctx, p)
	}
	packed, err := s.artifact(ctx)
	if err != nil {
		return archive.Manifest{}, err
	}
	defer packed.Close()
	return s.extract(ctx, packed)
}

// part is what of the source the run needs, nil for all of it. A person's shell may look at anything.
func (t *task) part() *run.Part {
	p := t.spec.Part
	switch t.spec.Operation {
	case run.OperationPlan, run.OperationPlanAndApply, run.OperationApply:
		if p != nil && p.Digest != "" && len(p.Paths) > 0 {
			return p
		}
	}
	return nil
}

// treeDigest names what is in the tree. Another commit that does not touch the part that a run reads changes nothing.
func (t *task) treeDigest() string {
	if p := t.part(); p != nil {
		return "part:" + p.Digest
	}
	return t.spec.Artifact.Digest
}

// belongs tells which entries of the source are unpacked; nil for all.
func (s *source) belongs() func(name string) bool {
	p := s.task.part()
	if p == nil {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(p.Paths, func(at string) bool {
			return at == "." || name == at || strings.HasPrefix(name, at+"/")
		})
	}
}

// sameTree says whether the tree is what was unpacked, after removing what was added.
func (s *source) sameTree() bool {
	plan := ""
	if s.task.spec.Operation == run.OperationApply && s.task.spec.Plan != nil {
		plan = s.task.spec.Plan.Digest
	}
	same, differences := s.site.space.sameTree(plan)
	if differences != "" {
		s.task.log.Note("Unpacking the source again, because the working directory is not as it was: %s", differences)
	}
	return same
}

// sameTree says whether the tree is what was unpacked and what making the plan, if one is named, added. All else that was
// added is removed. Otherwise it says what was changed, if that is known.
func (w *workspace) sameTree(plan string) (same bool, differences string) {
	manifest, err := archive.LoadManifest(filepath.Join(w.base, manifestName))
	if err != nil || manifest.Digest != w.record.Artifact {
		return false, ""
	}
	w.expectMade(plan, &manifest)
	found, err := archive.Compare(filepath.Join(w.base, sourceDir), manifest, w.keep)
	if err != nil || len(found.Changed)+len(found.Removed) > 0 {
		return false, found.String()
	}
	for _, name := range found.Added {
		if err := w.root.RemoveAll(path.Join(sourceDir, name)); err != nil {
			return false, ""
		}
	}
	return true, ""
}

// keep tells what the runner and tofu put beside the root module.
func (w *workspace) keep(name string) bool {
	if path.Join(sourceDir, path.Dir(name)) != w.module {
		return false
	}
	base := path.Base(name)
	return base == dataDirTF || base == lockFileTF || base == overrideTF || slices.Contains(secretFiles, base)
}

func (s *source) extract(ctx context.Context, packed io.Reader) (archive.Manifest, error) {
	manifest, err := archive.ExtractPart(ctx, packed, filepath.Join(s.site.space.base, newSourceDir), s.sourceLimits(), s.task.spec.Artifact.Digest, s.belongs())
	if err != nil {
		return manifest, s.unpackFailure(err)
	}
	manifest.Digest = s.task.treeDigest()
	return manifest, nil
}

// replaceTree puts the new tree in the place of the old one. The providers of the old one go with it if they are as init
// left them. Modules and what init knows of the backend do not: a program of the old one may have had a hand in them.
func (w *workspace) replaceTree(manifest archive.Manifest) error {
	w.record.Artifact, w.record.Known = "", nil
	if err := w.save(); err != nil { // until the new tree is complete none is
		return err
	}
	if w.root.user != 0 {
		if err := errors.Join(w.root.giveAll(newSourceDir, w.root.user), manifest.Rescan(filepath.Join(w.base, newSourceDir))); err != nil {
			return fault.New(fault.DiskClass(err), "give the source to its user: %w", err)
		}
	}
	fresh := path.Join(newSourceDir, path.Clean("/"+w.module[len(sourceDir):]))
	if info, err := w.root.Stat(fresh); err == nil && info.IsDir() {
		w.moveProviders(fresh)
		if err := w.rememberBackend(path.Join(fresh, dataDirTF), w.localBackend()); err != nil {
			return err
		}
		if err := w.moveOwnStates(fresh); err != nil {
			return err
		}
	}
	if err := w.root.RemoveAll(sourceDir); err != nil {
		return fault.New(fault.DiskClass(err), "remove the source of before: %w", err)
	}
	if err := w.root.Rename(newSourceDir, sourceDir); err != nil {
		return fault.New(fault.DiskClass(err), "place the source: %w", err)
	}
	if err := manifest.Save(filepath.Join(w.base, manifestName)); err != nil {
		return fault.New(fault.DiskClass(err), "place the source: %w", err)
	}
	w.record.HasLockFile = false
	if text, err := w.read(w.inModule(lockFileTF), maxLockFile); err == nil {
		if err := w.write(lockName, text); err != nil {
			return err
		}
		w.record.HasLockFile = true
	}
	w.record.Artifact, w.record.Module = manifest.Digest, w.module
	w.unpacked = true
	return w.save()
}

// discardTree removes the working directory with all that was written there, but for the states that the stack's own backend
// keeps. The next run unpacks the source anew.
func (w *workspace) discardTree() error {
	fresh := path.Join(newSourceDir, path.Clean("/"+w.module[len(sourceDir):]))
	if err := errors.Join(w.root.RemoveAll(newSourceDir), w.root.MkdirAll(fresh, 0o700), w.moveOwnStates(fresh)); err != nil {
		return err
	}
	if err := w.root.RemoveAll(sourceDir); err != nil {
		return err
	}
	if err := w.root.Rename(newSourceDir, sourceDir); err != nil {
		return err
	}
	w.record.Artifact, w.record.Init = "", ""
	return w.save()
}

// moveOwnStates takes the states of a stack whose own backend keeps them beside its root module to the new tree.
func (w *workspace) moveOwnStates(fresh string) error {
	if !w.own || w.record.Module == "" {
		return nil
	}
	for _, name := range stateFiles {
		err := w.root.Rename(path.Join(w.record.Module, name), path.Join(fresh, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(run.FailureState, "move the state %s to the new source: %w", name, err)
		}
	}
	return nil
}

func orDefault[T ~int64](value, standard T) T {
	if value > 0 {
		return value
	}
	return standard
}
