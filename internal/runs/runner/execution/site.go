// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Site is a run's use of the working directory.
type Site struct {
	run *Run
	// Space is nil until the working directory is opened.
	Space *workspace.Workspace
	// Claim releases the working directory's lock, if it was taken before the directory was opened.
	Claim func()
}

// NewSite makes a site whose directory is not open yet.
func NewSite(t *Run) *Site { return &Site{run: t} }

// Order describes the run's working directory for [workspace.Area].
func (s *Site) Order() workspace.Order {
	return workspace.Order{Stack: s.run.Spec.Stack, Path: s.run.Spec.Path, Workspace: s.run.Spec.Workspace, Own: s.run.Spec.Backend.Kind == run.BackendOwn}
}

// TakeClaim returns the claim, if there is one, and leaves the site without.
func (s *Site) TakeClaim() func() {
	claim := s.Claim
	s.Claim = nil
	return claim
}

// Unclaim releases the lock, if it was taken and the directory never opened.
func (s *Site) Unclaim() {
	if s.Claim != nil {
		s.Claim()
		s.Claim = nil
	}
}

// MeasuredDirs are the directories whose size counts for the run.
func (s *Site) MeasuredDirs() []string { return append(s.Space.Places(), s.run.Dir.Root) }

// StateSize is the size of the state file, 0 without one.
func (s *Site) StateSize() int64 {
	info, err := s.Space.Root.Lstat(s.Space.InModule(s.Space.StateIn()))
	if err != nil {
		return 0
	}
	return info.Size()
}

// CheckedVarFiles returns the arguments for the stack's tfvars files.
func (s *Site) CheckedVarFiles() ([]string, error) {
	var args []string
	for _, name := range s.run.Spec.VarFiles {
		if !filepath.IsLocal(name) {
			return nil, fault.New(run.FailureConfiguration, "read the values in %q: the path leaves the source", name)
		}
		info, err := s.Space.Root.Stat(path.Join(workspace.SourceDir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			return nil, fault.New(run.FailureConfiguration, "tfvars file's path does not exist: %s (in revision %s of the source)", name, s.run.Spec.Artifact.Revision)
		}
		if err != nil {
			return nil, fault.New("", "read the values in %s: %w", name, err)
		}
		args = append(args, "-var-file="+filepath.Join(s.Space.Base, workspace.SourceDir, name))
	}
	return args, nil
}

// MayEncrypt reports whether environment or root module may encrypt the state.
func (s *Site) MayEncrypt() bool {
	for _, e := range s.run.Spec.Env {
		if e.Name == "TF_ENCRYPTION" {
			return true
		}
	}
	directory, err := s.Space.Root.Open(s.Space.Module)
	if err != nil {
		return true
	}
	defer directory.Close()
	names, err := directory.Readdirnames(-1)
	if err != nil {
		return true
	}
	for _, name := range names {
		if !strings.Contains(name, ".tf") && !strings.Contains(name, ".tofu") || name == workspace.DataDirTF {
			continue
		}
		text, err := s.Space.Read(s.Space.InModule(name), 16<<20)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(text, []byte("encryption")) {
			return true
		}
	}
	return false
}

// IsLockFile reports whether a mapped file is the dependency lock file.
func IsLockFile(f run.File) bool {
	return f.Location == run.FileInModule && f.Path == workspace.LockFileTF
}
