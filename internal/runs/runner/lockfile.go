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
func (t *task) mappedLockFile() ([]byte, bool) {
	for _, f := range t.spec.Files {
		if isLockFile(f) {
			return f.Content, true
		}
	}
	return nil, false
}

func isLockFile(f run.File) bool { return f.Location == run.FileInModule && f.Path == lockFileTF }

// bringsLockFile says whether the stack has a lock file of its own: then none is recorded.
func (s *site) bringsLockFile() bool {
	_, mapped := s.task.mappedLockFile()
	return mapped || s.space.record.HasLockFile
}

// freshLockFile puts the lock file in place that init is to start from: the one that came with the run's files, else the
// source's own, else the recorded one.
func (s *site) freshLockFile() error {
	w := s.space
	if text, mapped := s.task.mappedLockFile(); mapped {
		if s.task.spec.Upgrade {
			s.task.log.Note("Init: upgradeOnInit chooses the newest versions that the constraints allow, also where the mapped %s has others. Set it to false to keep those", lockFileTF)
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
	if len(s.task.spec.LockFile) == 0 {
		return nil
	}
	return w.write(w.inModule(lockFileTF), s.task.spec.LockFile)
}

// reportLockFile gives a lock file that the stack does not bring to the server, when it is new.
func (s *site) reportLockFile() error {
	if s.bringsLockFile() {
		return nil
	}
	text, err := s.space.read(s.space.inModule(lockFileTF), maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a module without providers has none
	}
	if err != nil {
		return fault.New("", "read the dependency lock file: %w", err)
	}
	if !bytes.Equal(text, s.task.spec.LockFile) {
		s.task.result.LockFile = text
		s.task.Lock()
		s.task.Journal.LockFile = text
		s.task.Unlock()
	}
	return nil
}
