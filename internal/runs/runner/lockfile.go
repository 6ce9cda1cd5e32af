// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

const maxLockFile = 1 << 20

func (w *workspace) lockFileDigest() string {
	text, err := w.read(w.inModule(lockFileTF), maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "unreadable"
	}
	return spool.Digest(text)
}

// mappedLockFile is the dependency lock file that came with the run's files.
func (j *job) mappedLockFile() ([]byte, bool) {
	for _, f := range j.spec.Files {
		if isLockFile(f) {
			return f.Content, true
		}
	}
	return nil, false
}

func isLockFile(f run.File) bool { return f.Location == run.FileInModule && f.Path == lockFileTF }

// bringsLockFile says whether the stack has a lock file of its own: then none is recorded.
func (j *job) bringsLockFile() bool {
	_, mapped := j.mappedLockFile()
	return mapped || j.space.record.HasLockFile
}

// freshLockFile puts the lock file in place that init is to start from: the one that came with the run's files, else the
// source's own, else the recorded one.
func (j *job) freshLockFile() error {
	w := j.space
	if text, mapped := j.mappedLockFile(); mapped {
		if j.spec.Upgrade {
			j.log.Note("Init: upgradeOnInit chooses the newest versions that the constraints allow, also where the mapped %s has others. Set it to false to keep those", lockFileTF)
		}
		return w.write(w.inModule(lockFileTF), text)
	}
	if w.record.HasLockFile {
		text, err := w.read(lockName, maxLockFile)
		if err != nil {
			return fault.New("", "read the source's dependency lock file: %w", err)
		}
		return w.write(w.inModule(lockFileTF), text)
	}
	if err := w.remove(lockFileTF); err != nil {
		return err
	}
	if len(j.spec.LockFile) == 0 {
		return nil
	}
	return w.write(w.inModule(lockFileTF), j.spec.LockFile)
}

// reportLockFile gives a lock file that the stack does not bring to the server, when it is new.
func (j *job) reportLockFile() error {
	if j.bringsLockFile() {
		return nil
	}
	text, err := j.space.read(j.space.inModule(lockFileTF), maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a module without providers has none
	}
	if err != nil {
		return fault.New("", "read the dependency lock file: %w", err)
	}
	if !bytes.Equal(text, j.spec.LockFile) {
		j.result.LockFile = text
		j.Lock()
		j.Journal.LockFile = text
		j.Unlock()
	}
	return nil
}
