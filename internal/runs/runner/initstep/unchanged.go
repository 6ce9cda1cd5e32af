// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// initDigest covers everything that init reads, including the recorded lock file, and the
// variables, which may name modules and providers.
func (s *Step) initDigest(lockFile []byte) string {
	w := s.site.Space
	config, _ := w.Root.ReadFile(workspace.CLIConfigName) // just written
	if s.providers.providing.plainConfig != nil {
		config = s.providers.providing.plainConfig
	}
	scope := ""
	if from := s.downloads.providerScope(); from != nil {
		scope = from.Name
	}
	env := s.run.Spec.Env
	if s.run.Spec.Backend.Kind == run.BackendManaged {
		env = nil
	}
	hash := sha256.New()
	for _, part := range []any{s.run.TreeDigest(), w.Module, s.run.Spec.Backend, lockFile, w.Tool.Identity, w.Named, s.run.Spec.Variables, env, config, scope} {
		text, _ := json.Marshal(part) // plain values; invalid JSON failed before
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	if len(s.run.Spec.Files) > 0 {
		text := execution.Encode(s.run.Spec.Files)
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// recordInit records init's inputs, with the new lock file, so that the next run can skip init.
func (s *Step) recordInit() error {
	w := s.site.Space
	defer w.ListInit()
	lockFile := s.run.Spec.LockFile
	if !s.bringsLockFile() {
		text, err := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New("", "read the dependency lock file: %w", err)
		}
		if len(text) > 0 { // a module without providers has none; the recorded one stays
			lockFile = text
		}
	}
	w.Record.Init, w.Record.LockFile, w.Record.Selected = s.initDigest(lockFile), w.LockFileDigest(), ""
	w.Record.NotNeeded = nil
	if w.Own {
		w.Record.Selected = w.Selected()
	}
	s.tellModules()
	s.tellUses(true)
	if err := w.Save(); err != nil {
		return err
	}
	return s.reportLockFile()
}

// checkInit reports whether the result of init is unchanged. If not, it removes the result.
func (s *Step) checkInit() (intact bool, err error) {
	w := s.site.Space
	if w.Unpacked || w.Record.Module == "" { // only unchanged providers are left
		return false, nil
	}
	info, err := w.Root.Lstat(w.InModule(workspace.DataDirTF))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	list, listed := w.InitList()
	if err == nil && listed && info.IsDir() {
		differences, err := archive.Compare(filepath.Join(w.Dir, workspace.DataDirTF), list, nil)
		if err == nil && differences.None() {
			return true, nil
		}
		if err == nil && workspace.OnlyBackend(differences) { // cleanup removed the run's settings
			return false, w.ForgetUnlessLocal()
		}
		if err == nil {
			s.run.Log.Note("Init: starting over, because files of the last init changed: %s", differences)
		}
	}
	local := w.LocalBackend()
	return false, errors.Join(w.Remove(workspace.DataDirTF), w.RememberBackend(w.InModule(workspace.DataDirTF), local))
}
