// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/run"
)

// keepLeftState moves states out of the working directory that are there before a run begins. A run takes its state
// with it when it ends: one that is left is of a run whose end nobody saw, and may be the only one that has its changes.
func (j *job) keepLeftState(context.Context) error {
	w := j.space
	if w.own {
		return nil
	}
	module := orText(w.record.Module, w.module)
	for _, name := range []string{w.stateIn(), erroredName} {
		state, err := w.read(path.Join(module, name), maxState)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !completeState(state) {
			continue
		}
		if err != nil {
			j.warn("%s was left by an earlier run, cannot be read, and is removed: %v", name, err)
			continue
		}
		dir := j.orphanDir(j.id + "-left")
		kept := filepath.Join(dir, filepath.Base(name))
		if err := keepFile(kept, state); err != nil {
			return failed(run.FailureDisk, "keep %s, which an earlier run has left: %w", name, err)
		}
		j.warn("A run before has left a state in the working directory. It is kept, unencrypted, in %s: compare it with `yuba state pull`", kept)
		if err := j.noteLeftState(kept, state); err != nil {
			return err
		}
		j.opts.Log.Warn("kept a state that was left in a working directory", "stack", j.spec.Stack.String(), "file", kept)
	}
	return nil
}

// leftState is a state that was found in the working directory, and kept.
type leftState struct {
	File    string `json:"file"`
	Lineage string `json:"lineage"`
	Serial  uint64 `json:"serial"`
}

func readLeftState(file string, state []byte) leftState {
	l := leftState{File: file}
	_ = json.Unmarshal(state, &l) // the rest of a state is not wanted; of an encrypted one both are plain, too
	return l
}

// noteLeftState has the runs that follow heed the newest of the states that were left.
func (j *job) noteLeftState(file string, state []byte) error {
	w, left := j.space, readLeftState(file, state)
	if known := w.record.LeftState; known != nil && known.Serial > left.Serial {
		return nil
	}
	w.record.LeftState = &left
	return w.save()
}

// heedLeftState lets nothing be applied while a state is kept that follows the one given, empty for none: it has changes
// that the given one lacks, and they would be made a second time. A person says which of them counts.
func (j *job) heedLeftState(given []byte) error {
	w, left := j.space, j.space.record.LeftState
	if left == nil || len(given) > 0 && !completeState(given) {
		return nil
	}
	now := readLeftState("", given)
	_, err := os.Lstat(left.File)
	if errors.Is(err, fs.ErrNotExist) || left.Lineage != now.Lineage && len(given) > 0 || left.Serial <= now.Serial {
		w.record.LeftState = nil
		return w.save()
	}
	switch j.spec.Operation {
	case run.OperationPlan, run.OperationState, run.OperationShell:
		return nil
	}
	return failed(run.FailureState, "apply: a run before has left a newer state than the stack's own in %s (serial %d, not %d): what it has made would be made again. "+
		"Compare it with `yuba state pull %[4]s`. If it is the right one, `yuba state push %[4]s %[1]s`; if it is not, delete the file", left.File, left.Serial, now.Serial, j.spec.Stack.Name)
}

// keepFile writes a new file and returns when it is on disk.
func keepFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}
