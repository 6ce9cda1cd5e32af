// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// Selects reports whether the workspace is selected after init, which fails on a selected one that
// does not exist yet, unless the backend is local or it is the only one.
func (w *Workspace) Selects() bool { return w.Own && w.Named != "default" }

// ForgetBackend makes init see a fresh checkout. It must never move states between backends.
func (w *Workspace) ForgetBackend() error {
	return w.Remove(DataDirTF+"/"+StateName, SelectedName)
}

// Initialised reports whether the last init's results are there and its lock file is unchanged.
func (w *Workspace) Initialised() bool {
	info, err := w.Root.Lstat(w.InModule(DataDirTF))
	if err != nil || !info.IsDir() {
		return false
	}
	return w.LockFileDigest() == w.Record.LockFile && (!w.Own || w.Selected() == w.Record.Selected)
}

// Selected returns the workspace that the tool has selected.
func (w *Workspace) Selected() string {
	text, err := w.Read(w.InModule(SelectedName), 1<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "unreadable"
	}
	return string(text)
}

// MaxLockFile limits a dependency lock file.
const MaxLockFile = 1 << 20

// LockFileDigest returns the digest of the dependency lock file; empty without one.
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
