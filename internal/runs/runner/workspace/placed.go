// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// Location returns the directory of a file, relative to Root.
func (w *Workspace) Location(f run.File) string {
	if f.Location == run.FileInHome {
		return HomeDir
	}
	return w.Module
}

// Place writes a file and makes its parents. It does not follow links of the source, which could
// put a secret where others read it.
func (w *Workspace) Place(location, name string, content []byte) error {
	root, err := w.Root.OpenRoot(location)
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	defer root.Close()
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := makeDir(root, name[:i]); err != nil {
			return err
		}
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return fault.New(run.FailureConfiguration, "write %s: there is a directory of that name", name)
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.DiskClass(err), "replace %s: %w", name, err)
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	return nil
}

func makeDir(root *Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := root.Mkdir(name, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "create the directory %s: %w", name, err)
		}
		return nil
	case err != nil:
		return fault.New(fault.DiskClass(err), "create the directory %s: %w", name, err)
	case !info.IsDir():
		return fault.New(run.FailureConfiguration, "create the directory %s: a file or link has that name", name)
	}
	return nil
}

// RemovePlaced removes the files of the last run.
func (w *Workspace) RemovePlaced() error {
	if len(w.Record.Placed) == 0 {
		return nil
	}
	for _, name := range w.Record.Placed {
		if err := w.unplace(name); err != nil {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	w.Record.Placed = nil
	return w.Save()
}

// unplace removes a file. If a parent is no longer a directory, the file is gone, and the target of
// a link is not ours.
func (w *Workspace) unplace(name string) error {
	location, name, _ := strings.Cut(name, "/")
	root, err := w.Root.OpenRoot(location)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for i, c := range name {
		if c != '/' {
			continue
		}
		if info, err := root.Lstat(name[:i]); err != nil || !info.IsDir() {
			return nil
		}
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// forgetSettings removes init's record of a backend with settings of the run, which may be secret.
// The next run's init gets them again.
func (w *Workspace) forgetSettings() error {
	if !w.Record.Settings {
		return nil
	}
	if err := w.Remove(DataDirTF + "/" + StateName); err != nil {
		return err
	}
	w.Record.Settings, w.Record.Init = false, ""
	return w.Save()
}
