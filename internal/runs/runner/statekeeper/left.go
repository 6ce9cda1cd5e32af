// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statekeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// KeepLeftState moves states out of the working directory before a run. A run removes its own, so
// these are of interrupted runs and may be the only ones with their changes.
func (k *Keeper) KeepLeftState(context.Context) error {
	w := k.site.Space
	if w.Own {
		return nil
	}
	module := cmp.Or(w.Record.Module, w.Module)
	for _, name := range []string{w.StateIn(), workspace.ErroredName} {
		state, err := w.Read(path.Join(module, name), MaxState)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !spool.Complete(state) {
			continue
		}
		if err != nil {
			k.run.Warn("%s of an earlier run cannot be read and is removed: %v", name, err)
			continue
		}
		dir := k.run.OrphanDir(k.run.ID + "-left")
		kept := filepath.Join(dir, filepath.Base(name))
		if err := errors.Join(spool.KeepFile(kept, state), spool.KeepFile(filepath.Join(dir, spool.SpecFile), execution.Encode(run.Spec{Stack: k.run.Spec.Stack, Workspace: k.run.Spec.Workspace}))); err != nil {
			return fault.New(run.FailureDisk, "keep %s of an earlier run: %w", name, err)
		}
		k.run.Warn("An earlier run left a state in the working directory. It is stored, unencrypted, in %s: compare it with `yuba state pull`", kept)
		k.run.Opts.Log.Warn("kept a state that was left in a working directory", "stack", k.run.Spec.Stack.String(), "file", kept)
	}
	return nil
}

// leftStates returns the kept states of the stack, the newest of each run. The directory is their
// only record, so a crash loses none.
func (k *Keeper) leftStates() ([]spool.Left, error) {
	entries, err := os.ReadDir(k.run.OrphanDir(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find states that earlier runs left: %w", err)
	}
	var left []spool.Left
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := spool.Dir{Root: k.run.OrphanDir(entry.Name())}
		var spec run.Spec
		_, known, err := dir.ReadSpec(&spec)
		if err != nil { // it may belong to another stack, and must not stop all applies
			k.run.Warn("Cannot find the stack of the states in %s: %v. Check the directory, then delete it", dir.Root, err)
		}
		if known && spec.Stack == k.run.Spec.Stack && spec.Workspace == k.run.Spec.Workspace {
			left = append(left, statesIn(dir)...)
		}
	}
	return left, nil
}

// statesIn returns the states kept in a directory: from a working directory, or a spool's newest.
func statesIn(dir spool.Dir) (left []spool.Left) {
	for _, name := range []string{workspace.StateName, workspace.ErroredName} {
		if state, err := os.ReadFile(dir.Path(name)); err == nil {
			left = append(left, spool.ReadLeft(dir.Path(name), state))
		}
	}
	for _, sequence := range slices.Backward(dir.Sequences()) {
		if state, err := dir.ReadState(sequence); err == nil {
			return append(left, spool.ReadLeft(dir.Path(dir.StatePath(sequence)), state))
		}
	}
	return left
}

// HeedLeftState refuses an apply while a kept state follows the given one (empty for none): it
// would repeat the kept changes. A person decides which counts.
func (k *Keeper) HeedLeftState(given []byte) error {
	switch k.run.Spec.Operation {
	case run.OperationPlan, run.OperationState, run.OperationShell:
		return nil
	}
	if len(given) > 0 && !spool.Complete(given) {
		return nil
	}
	all, err := k.leftStates()
	if err != nil {
		return fault.New(run.FailureDisk, "apply: %w", err)
	}
	now := spool.ReadLeft("", given)
	for _, left := range all {
		if left.Lineage != now.Lineage && len(given) > 0 || left.Serial <= now.Serial {
			continue
		}
		return fault.New(run.FailureState, "apply: an earlier run left a newer state than the stack's own in %s (serial %d, not %d): its resources would be created again. "+
			"Compare it with `yuba state pull %[4]s`. If it is the right one, `yuba state push %[4]s %[1]s`; if it is not, delete the file", left.File, left.Serial, now.Serial, k.run.Spec.Stack.Name)
	}
	return nil
}
