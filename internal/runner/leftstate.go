// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
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
		j.opts.Log.Warn("kept a state that was left in a working directory", "stack", j.spec.Stack.String(), "file", kept)
	}
	return nil
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
