// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// To show a plan tofu starts providers, which say what is in it. Programs of the run can write where providers are: while the plan
// was made, and while it is shown, as a program that gives the key for it does. So they are compared with what init left, and
// looked at again afterwards.

// providersChangedError says that what shows a plan is not what init left.
type providersChangedError struct{ what string }

func (e *providersChangedError) Error() string {
	return "something has changed the providers since init: " + e.what + ". What they show of the plan cannot be trusted. " +
		"Look for a program that writes to " + DataDirTF + " or " + LockFileTF
}

// ByInitsProviders shows something of a plan, and fails when other providers than those that init left may have shown it.
func (w *Workspace) ByInitsProviders(show func() error) error {
	before, err := w.providerStamps()
	if err = errors.Join(err, w.hasInitsProviders()); err != nil {
		return fault.New(run.FailureTool, "show the plan: %w", err)
	}
	if err := show(); err != nil {
		return err
	}
	after, err := w.providerStamps()
	if err == nil && !maps.Equal(before, after) {
		err = &providersChangedError{"a file was replaced while tofu showed the plan"}
	}
	if err != nil {
		return fault.New(run.FailureTool, "show the plan: %w", err)
	}
	return nil
}

// hasInitsProviders compares the providers and the lock file with what init left.
func (w *Workspace) hasInitsProviders() error {
	if w.LockFileDigest() != w.Record.LockFile {
		return &providersChangedError{LockFileTF + " is another one"}
	}
	list, listed := w.InitList()
	if _, err := w.Root.Lstat(w.InModule(DataDirTF)); errors.Is(err, fs.ErrNotExist) && !listed {
		return nil
	}
	if !listed {
		return &providersChangedError{"there is no list of what init left"}
	}
	differences, err := archive.Compare(filepath.Join(w.Dir, DataDirTF), list, notProviders)
	if err == nil && !differences.None() {
		err = &providersChangedError{differences.String()}
	}
	return err
}

// providerStamps are those of the lock file, the providers and the directories that lead to them: who moves a directory away and
// back changes the time of its inode's last change.
func (w *Workspace) providerStamps() (map[string]Stamp, error) {
	stamps := map[string]Stamp{}
	take := func(name string, st *unix.Stat_t) error {
		stamps[name] = Stamp{st.Ino, st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}
		return nil
	}
	const providers = DataDirTF + "/providers"
	for _, name := range []string{LockFileTF, DataDirTF, providers} {
		var st unix.Stat_t
		err := unix.Lstat(filepath.Join(w.Dir, name), &st)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, take(name, &st)); err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
	}
	err := filetree.Walk(filepath.Join(w.Dir, providers), filetree.Bounds{Entries: maxListed}, take)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at the providers: %w", err)
	}
	return stamps, nil
}
