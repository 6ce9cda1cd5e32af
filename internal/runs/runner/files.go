// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// placeMapped writes the files that come with the run. Which they are is written down first, so that those of a run
// whose end nobody saw are removed by the next one.
func (s *prepareStep) placeMapped() error {
	w := s.site.space
	if err := w.RemovePlaced(); err != nil {
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
		w.Record.Placed = append(w.Record.Placed, path.Join(w.Location(f), f.Path))
	}
	if err := w.Save(); err != nil {
		return err
	}
	for _, f := range s.task.spec.Files {
		if isLockFile(f) {
			continue
		}
		if err := w.Place(w.Location(f), f.Path, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// checkFile refuses paths that leave their location, and those of files that the runner and the tool write themselves.
func (s *prepareStep) checkFile(f run.File) error {
	if f.Location != run.FileInHome && f.Location != run.FileInModule {
		return fault.New(run.FailureConfiguration, "write the file %s: %q is no place for files", f.Path, f.Location)
	}
	if !filepath.IsLocal(f.Path) || f.Path != path.Clean(f.Path) || f.Path == "." {
		return fault.New(run.FailureConfiguration, "write the file %q: the path must name a file below the %s directory", f.Path, f.Location)
	}
	first, _, _ := strings.Cut(f.Path, "/")
	if f.Location == run.FileInModule && (first == workspace.DataDirTF || first == workspace.OverrideTF || slices.Contains(workspace.SecretFiles, first)) {
		return fault.New(run.FailureConfiguration, "write the file %s: Yuba and the tool keep their own there", f.Path)
	}
	return nil
}

// checkedVarFiles are the arguments that name the stack's files of values.
func (s *site) checkedVarFiles() ([]string, error) {
	var args []string
	for _, name := range s.task.spec.VarFiles {
		if !filepath.IsLocal(name) {
			return nil, fault.New(run.FailureConfiguration, "read the values in %q: the path leaves the source", name)
		}
		info, err := s.space.Root.Stat(path.Join(workspace.SourceDir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			return nil, fault.New(run.FailureConfiguration, "tfvars file's path does not exist: %s (in revision %s of the source)", name, s.task.spec.Artifact.Revision)
		}
		if err != nil {
			return nil, fault.New("", "read the values in %s: %w", name, err)
		}
		args = append(args, "-var-file="+filepath.Join(s.space.Base, workspace.SourceDir, name))
	}
	return args, nil
}
