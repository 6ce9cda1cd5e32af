// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// checkInit says whether all is as init left it. What a program has changed is removed, so that init begins with nothing.
func (s *initStep) checkInit() (intact bool, err error) {
	w := s.site.space
	if w.Unpacked || w.Record.Module == "" { // nothing is there but providers that were as they had been
		return false, nil
	}
	info, err := w.Root.Lstat(w.InModule(workspace.DataDirTF))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	list, listed := w.InitList()
	if err == nil && listed && info.IsDir() {
		differences, err := archive.Compare(filepath.Join(w.Dir, workspace.DataDirTF), list, nil)
		if err == nil && differences.None() {
			return true, nil
		}
		if err == nil && workspace.OnlyBackend(differences) { // settings that came with a run were removed after it
			return false, w.ForgetUnlessLocal()
		}
		if err == nil {
			s.task.log.Note("Init: from nothing, because what it left is not as it was: %s", differences)
		}
	}
	local := w.LocalBackend()
	return false, errors.Join(w.Remove(workspace.DataDirTF), w.RememberBackend(w.InModule(workspace.DataDirTF), local))
}
