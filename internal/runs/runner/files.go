// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// settingsName is the file that completes the backend's configuration, for as long as init runs.
const settingsName = givenDir + "/settings.tfbackend"

// placeMapped writes the files that come with the run. Which they are is written down first, so that those of a run
// whose end nobody saw are removed by the next one.
func (s *site) placeMapped() error {
	w := s.space
	if err := w.removePlaced(); err != nil {
		return err
	}
	if len(s.task.spec.Files) == 0 {
		return nil
	}
	for _, f := range s.task.spec.Files {
		if err := s.checkFile(f); err != nil {
			return err
		}
		if isLockFile(f) { // init starts from it, and leaves another
			continue
		}
		w.record.Placed = append(w.record.Placed, path.Join(w.location(f), f.Path))
	}
	if err := w.save(); err != nil {
		return err
	}
	for _, f := range s.task.spec.Files {
		if isLockFile(f) {
			continue
		}
		if err := w.place(w.location(f), f.Path, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// location is the directory of a file, relative to root.
func (w *workspace) location(f run.File) string {
	if f.Location == run.FileInHome {
		return homeDir
	}
	return w.module
}

// checkFile refuses paths that leave their location, and those of files that the runner and the tool write themselves.
func (s *site) checkFile(f run.File) error {
	if f.Location != run.FileInHome && f.Location != run.FileInModule {
		return fault.New(run.FailureConfiguration, "write the file %s: %q is no place for files", f.Path, f.Location)
	}
	if !filepath.IsLocal(f.Path) || f.Path != path.Clean(f.Path) || f.Path == "." {
		return fault.New(run.FailureConfiguration, "write the file %q: the path must name a file below the %s directory", f.Path, f.Location)
	}
	first, _, _ := strings.Cut(f.Path, "/")
	if f.Location == run.FileInModule && (first == dataDirTF || first == overrideTF || slices.Contains(secretFiles, first)) {
		return fault.New(run.FailureConfiguration, "write the file %s: Yuba and the tool keep their own there", f.Path)
	}
	return nil
}

// place writes a file below a location and makes the directories on its way. A link on the way, which the source may
// have, is not followed: it could put a secret where others look.
func (w *workspace) place(location, name string, content []byte) error {
	root, err := w.root.OpenRoot(location)
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

func makeDir(root *stackRoot, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := root.Mkdir(name, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "make the directory %s: %w", name, err)
		}
		return nil
	case err != nil:
		return fault.New(fault.DiskClass(err), "make the directory %s: %w", name, err)
	case !info.IsDir():
		return fault.New(run.FailureConfiguration, "make the directory %s: a file or link of that name is in the way", name)
	}
	return nil
}

// removePlaced removes the files that came with the last run.
func (w *workspace) removePlaced() error {
	if len(w.record.Placed) == 0 {
		return nil
	}
	for _, name := range w.record.Placed {
		if err := w.unplace(name); err != nil {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	w.record.Placed = nil
	return w.save()
}

// unplace removes a file, unless the run has put a link or a file where its directory was: then it is gone, and what a
// link leads to is not ours.
func (w *workspace) unplace(name string) error {
	location, name, _ := strings.Cut(name, "/")
	root, err := w.root.OpenRoot(location)
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

// forgetSettings removes what init remembers of a backend whose settings came with the run: they may be secret. The
// next run's init is told them again.
func (w *workspace) forgetSettings() error {
	if !w.record.Settings {
		return nil
	}
	if err := w.remove(dataDirTF + "/" + stateName); err != nil {
		return err
	}
	w.record.Settings, w.record.Init = false, ""
	return w.save()
}

// placeSettings writes the file that completes the backend's configuration, and returns the argument for init and what
// to do with the file afterwards.
func (s *site) placeSettings() (args []string, remove func(), err error) {
	w := s.space
	if len(s.task.spec.Backend.Settings) == 0 {
		return nil, func() {}, nil
	}
	w.record.Settings = true
	if err := w.save(); err != nil {
		return nil, nil, err
	}
	if err := w.write(settingsName, settingsHCL(s.task.spec.Backend.Settings)); err != nil {
		return nil, nil, err
	}
	remove = func() { _ = w.root.Remove(settingsName) } // it goes with its directory at the latest
	return []string{"-backend-config=" + filepath.Join(w.base, settingsName)}, remove, nil
}

// checkedVarFiles are the arguments that name the stack's files of values.
func (s *site) checkedVarFiles() ([]string, error) {
	var args []string
	for _, name := range s.task.spec.VarFiles {
		if !filepath.IsLocal(name) {
			return nil, fault.New(run.FailureConfiguration, "read the values in %q: the path leaves the source", name)
		}
		info, err := s.space.root.Stat(path.Join(sourceDir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			return nil, fault.New(run.FailureConfiguration, "tfvars file's path does not exist: %s (in revision %s of the source)", name, s.task.spec.Artifact.Revision)
		}
		if err != nil {
			return nil, fault.New("", "read the values in %s: %w", name, err)
		}
		args = append(args, "-var-file="+filepath.Join(s.space.base, sourceDir, name))
	}
	return args, nil
}
