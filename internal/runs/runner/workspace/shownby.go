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

// To show a plan, tofu starts providers, which the run's programs may have replaced while the plan
// was made, or replace now, such as a key provider. So they are compared before and after.

// providersChangedError reports that the providers that show a plan are not those of init.
type providersChangedError struct{ what string }

func (e *providersChangedError) Error() string {
	return "something has changed the providers since init: " + e.what + ". What they show of the plan cannot be trusted. " +
		"Look for a program that writes to " + DataDirTF + " or " + LockFileTF
}

// ByInitsProviders shows a plan. It fails if other providers than init's may have shown it.
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

// hasInitsProviders compares the providers and the lock file with the result of init.
func (w *Workspace) hasInitsProviders() error {
	if w.LockFileDigest() != w.Record.LockFile {
		return &providersChangedError{LockFileTF + " has changed"}
	}
	list, listed := w.InitList()
	if _, err := w.Root.Lstat(w.InModule(DataDirTF)); errors.Is(err, fs.ErrNotExist) && !listed {
		return nil
	}
	if !listed {
		return &providersChangedError{"the list of files of init is missing"}
	}
	differences, err := archive.Compare(filepath.Join(w.Dir, DataDirTF), list, notProviders)
	if err == nil && !differences.None() {
		err = &providersChangedError{differences.String()}
	}
	return err
}

// providerStamps also covers the directories above the providers: moving one away and back changes
// its ctime.
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
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	err := filetree.Walk(filepath.Join(w.Dir, providers), filetree.Bounds{Entries: maxListed}, take)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the providers: %w", err)
	}
	return stamps, nil
}
