// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// placeMapped writes the files that come with the run. Which they are is written down first, so that those of a run
// whose end nobody saw are removed by the next one.
func (s *prepareStep) placeMapped() error {
	w := s.site.Space
	if err := w.RemovePlaced(); err != nil {
		return err
	}
	if len(s.run.Spec.Files) == 0 {
		return nil
	}
	for _, f := range s.run.Spec.Files {
		if err := s.checkFile(f); err != nil {
			return err
		}
		if execution.IsLockFile(f) { // init starts from it, and leaves another
			continue
		}
		w.Record.Placed = append(w.Record.Placed, path.Join(w.Location(f), f.Path))
	}
	if err := w.Save(); err != nil {
		return err
	}
	for _, f := range s.run.Spec.Files {
		if execution.IsLockFile(f) {
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
