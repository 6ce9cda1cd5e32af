// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// SameTree reports whether the tree is as unpacked, plus the files made by the plan, if given. It
// removes other added files. If the tree has changed, differences says how, if known.
func (w *Workspace) SameTree(plan string) (same bool, differences string) {
	manifest, err := archive.LoadManifest(filepath.Join(w.Base, manifestName))
	if err != nil || manifest.Digest != w.Record.Artifact {
		return false, ""
	}
	w.expectMade(plan, &manifest)
	found, err := archive.Compare(filepath.Join(w.Base, SourceDir), manifest, w.keep)
	if err != nil || len(found.Changed)+len(found.Removed) > 0 {
		return false, found.String()
	}
	for _, name := range found.Added {
		if err := w.Root.RemoveAll(path.Join(SourceDir, name)); err != nil {
			return false, ""
		}
	}
	return true, ""
}

// keep reports whether the runner or tofu put the file beside the root module.
func (w *Workspace) keep(name string) bool {
	if path.Join(SourceDir, path.Dir(name)) != w.Module {
		return false
	}
	base := path.Base(name)
	return base == DataDirTF || base == LockFileTF || base == OverrideTF || slices.Contains(SecretFiles, base)
}

// ReplaceTree replaces the tree. It takes over providers that are unchanged since init, but not
// modules and init's record of the backend: a program of the old tree may have changed those.
func (w *Workspace) ReplaceTree(manifest archive.Manifest) error {
	w.Record.Artifact, w.Record.Known = "", nil
	if err := w.Save(); err != nil { // no tree until the new one is complete
		return err
	}
	if w.Root.User != 0 {
		if err := errors.Join(w.Root.GiveAll(NewSourceDir, w.Root.User), manifest.Rescan(filepath.Join(w.Base, NewSourceDir))); err != nil {
			return fault.New(fault.DiskClass(err), "give the source to its user: %w", err)
		}
	}
	fresh := path.Join(NewSourceDir, path.Clean("/"+w.Module[len(SourceDir):]))
	if info, err := w.Root.Stat(fresh); err == nil && info.IsDir() {
		w.moveProviders(fresh)
		if err := w.RememberBackend(path.Join(fresh, DataDirTF), w.LocalBackend()); err != nil {
			return err
		}
		if err := w.moveOwnStates(fresh); err != nil {
			return err
		}
	}
	if err := w.Root.RemoveAll(SourceDir); err != nil {
		return fault.New(fault.DiskClass(err), "remove the previous source: %w", err)
	}
	if err := w.Root.Rename(NewSourceDir, SourceDir); err != nil {
		return fault.New(fault.DiskClass(err), "place the source: %w", err)
	}
	if err := manifest.Save(filepath.Join(w.Base, manifestName)); err != nil {
		return fault.New(fault.DiskClass(err), "place the source: %w", err)
	}
	_, err := w.Root.Lstat(w.InModule(ManifestTF))
	w.Record.Brought, w.Record.Uses = err == nil, nil
	w.Record.HasLockFile = false
	if text, err := w.Read(w.InModule(LockFileTF), MaxLockFile); err == nil {
		if err := w.Write(LockName, text); err != nil {
			return err
		}
		w.Record.HasLockFile = true
	}
	w.Record.Artifact, w.Record.Module = manifest.Digest, w.Module
	w.Unpacked = true
	return w.Save()
}

// DiscardTree empties the working directory, except for the states of a local backend. The next run
// unpacks the source again.
func (w *Workspace) DiscardTree() error {
	fresh := path.Join(NewSourceDir, path.Clean("/"+w.Module[len(SourceDir):]))
	if err := errors.Join(w.Root.RemoveAll(NewSourceDir), w.Root.MkdirAll(fresh, 0o700), w.moveOwnStates(fresh)); err != nil {
		return err
	}
	if err := w.Root.RemoveAll(SourceDir); err != nil {
		return err
	}
	if err := w.Root.Rename(NewSourceDir, SourceDir); err != nil {
		return err
	}
	w.Record.Artifact, w.Record.Init = "", ""
	return w.Save()
}

// moveOwnStates moves the states of a local backend to the new tree.
func (w *Workspace) moveOwnStates(fresh string) error {
	if !w.Own || w.Record.Module == "" {
		return nil
	}
	for _, name := range stateFiles {
		err := w.Root.Rename(path.Join(w.Record.Module, name), path.Join(fresh, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(run.FailureState, "move the state %s to the new source: %w", name, err)
		}
	}
	return nil
}
