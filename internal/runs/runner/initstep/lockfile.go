// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// mappedLockFile is the dependency lock file that came with the run's files.
func (s *Step) mappedLockFile() ([]byte, bool) {
	for _, f := range s.run.Spec.Files {
		if execution.IsLockFile(f) {
			return f.Content, true
		}
	}
	return nil, false
}

// bringsLockFile reports whether the stack has its own lock file. Then Yuba records none.
func (s *Step) bringsLockFile() bool {
	_, mapped := s.mappedLockFile()
	return mapped || s.site.Space.Record.HasLockFile
}

// freshLockFile puts the lock file for init in place: from the run's files, the source, or the
// recorded one.
func (s *Step) freshLockFile() error {
	w := s.site.Space
	if text, mapped := s.mappedLockFile(); mapped {
		if s.run.Spec.Upgrade {
			s.run.Log.Note("Init: upgradeOnInit chooses the newest versions that the constraints allow, also where the mapped %s has others. Set it to false to keep those", workspace.LockFileTF)
		}
		return w.Write(w.InModule(workspace.LockFileTF), text)
	}
	if w.Record.HasLockFile {
		text, err := w.Read(workspace.LockName, workspace.MaxLockFile)
		if err != nil {
			return fault.New("", "read the source's dependency lock file: %w", err)
		}
		return w.Write(w.InModule(workspace.LockFileTF), text)
	}
	if err := w.Remove(workspace.LockFileTF); err != nil {
		return err
	}
	if len(s.run.Spec.LockFile) == 0 {
		return nil
	}
	return w.Write(w.InModule(workspace.LockFileTF), s.run.Spec.LockFile)
}

// reportLockFile reports a new lock file to the server, unless the stack has its own.
func (s *Step) reportLockFile() error {
	if s.bringsLockFile() {
		return nil
	}
	text, err := s.site.Space.Read(s.site.Space.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a module without providers has none
	}
	if err != nil {
		return fault.New("", "read the dependency lock file: %w", err)
	}
	if !bytes.Equal(text, s.run.Spec.LockFile) {
		s.run.Result.LockFile = text
		s.run.Lock()
		s.run.Journal.LockFile = text
		s.run.Unlock()
	}
	return nil
}
