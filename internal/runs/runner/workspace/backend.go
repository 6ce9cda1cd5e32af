// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// Selects says whether the workspace is selected after init: init refuses a selected workspace that does not exist yet,
// unless it is the local backend's or the only one.
func (w *Workspace) Selects() bool { return w.Own && w.Named != "default" }

// ForgetBackend makes init take the backend as it finds it, as in a fresh checkout. Moving states between backends is
// nobody's wish here.
func (w *Workspace) ForgetBackend() error {
	return w.Remove(DataDirTF+"/"+StateName, SelectedName)
}

// Initialised reports whether the products of the last init are still there, the lock file unchanged.
func (w *Workspace) Initialised() bool {
	info, err := w.Root.Lstat(w.InModule(DataDirTF))
	if err != nil || !info.IsDir() {
		return false
	}
	return w.LockFileDigest() == w.Record.LockFile && (!w.Own || w.Selected() == w.Record.Selected)
}

// Selected is the workspace that the tool remembers as selected.
func (w *Workspace) Selected() string {
	text, err := w.Read(w.InModule(SelectedName), 1<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "unreadable"
	}
	return string(text)
}

// MaxLockFile is the most that is read of a dependency lock file.
const MaxLockFile = 1 << 20

// LockFileDigest is the digest of the dependency lock file; empty without one.
func (w *Workspace) LockFileDigest() string {
	text, err := w.Read(w.InModule(LockFileTF), MaxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "unreadable"
	}
	return spool.Digest(text)
}
