// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package custody

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

// KeepLeftState moves states out of the working directory that are there before a run begins. A run takes its state
// with it when it ends: one that is left is of a run whose end nobody saw, and may be the only one that has its changes.
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
			k.run.Warn("%s was left by an earlier run, cannot be read, and is removed: %v", name, err)
			continue
		}
		dir := k.run.OrphanDir(k.run.ID + "-left")
		kept := filepath.Join(dir, filepath.Base(name))
		if err := errors.Join(spool.KeepFile(kept, state), spool.KeepFile(filepath.Join(dir, spool.SpecFile), execution.Encode(run.Spec{Stack: k.run.Spec.Stack, Workspace: k.run.Spec.Workspace}))); err != nil {
			return fault.New(run.FailureDisk, "keep %s, which an earlier run has left: %w", name, err)
		}
		k.run.Warn("A run before has left a state in the working directory. It is kept, unencrypted, in %s: compare it with `yuba state pull`", kept)
		k.run.Opts.Log.Warn("kept a state that was left in a working directory", "stack", k.run.Spec.Stack.String(), "file", kept)
	}
	return nil
}

// leftStates are the states of the stack that are kept, the newest of each run. The directory is the only record of them:
// whatever dies in between, a state that was moved there is found.
func (k *Keeper) leftStates() ([]spool.Left, error) {
	entries, err := os.ReadDir(k.run.OrphanDir(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for states that earlier runs have left: %w", err)
	}
	var left []spool.Left
	for _, entry := range entries {
		if !entry.IsDir() { // a person's
			continue
		}
		dir := spool.Dir{Root: k.run.OrphanDir(entry.Name())}
		var spec run.Spec
		_, known, err := dir.ReadSpec(&spec)
		if err != nil { // it may be another stack's, and must not stop everybody's applies
			k.run.Warn("It is not known whose states are kept in %s: %v. Look into it, then delete it", dir.Root, err)
		}
		if known && spec.Stack == k.run.Spec.Stack && spec.Workspace == k.run.Spec.Workspace {
			left = append(left, statesIn(dir)...)
		}
	}
	return left, nil
}

// statesIn are the states that are kept in a directory: those of a working directory, and the newest of a spool.
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

// HeedLeftState lets nothing be applied while a state is kept that follows the one given, empty for none: it has changes
// that the given one lacks, and they would be made a second time. A person says which of them counts.
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
		return fault.New(run.FailureState, "apply: a run before has left a newer state than the stack's own in %s (serial %d, not %d): what it has made would be made again. "+
			"Compare it with `yuba state pull %[4]s`. If it is the right one, `yuba state push %[4]s %[1]s`; if it is not, delete the file", left.File, left.Serial, now.Serial, k.run.Spec.Stack.Name)
	}
	return nil
}
