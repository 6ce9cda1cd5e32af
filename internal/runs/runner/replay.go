// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// planComes tells whether the run makes a plan, which tells if something is missing of what init would have left.
func (s *initStep) planComes() bool {
	return s.task.spec.Operation == run.OperationPlan || s.task.spec.Operation == run.OperationPlanAndApply
}

// keepKey names everything that init depends on in this run but the content of the mirror; empty when that cannot be
// told, and why.
func (s *initStep) keepKey() (key, why string) {
	w := s.site.space
	switch {
	case !s.planComes():
		return "", "no plan comes next"
	case s.task.spec.Backend.Kind != run.BackendManaged:
		return "", "the backend is the stack's own"
	case len(s.task.spec.CLIConfig) > 0 || len(s.task.spec.Backend.Settings) > 0:
		return "", "the tool is configured by the stack"
	}
	for _, e := range s.task.spec.Env {
		// Any other setting may be one of init's.
		if strings.HasPrefix(e.Name, "TF_") && !strings.HasPrefix(e.Name, "TF_VAR_") && !strings.HasPrefix(e.Name, "TF_LOG") {
			return "", "the environment has " + e.Name
		}
	}
	source, err := os.OpenRoot(filepath.Join(w.Base, workspace.SourceDir))
	if err != nil {
		return "", err.Error()
	}
	defer source.Close()
	dir := strings.TrimPrefix(strings.TrimPrefix(w.Module, workspace.SourceDir), "/")
	required, err := module.ReadRequirements(source.FS(), cmp.Or(dir, "."), module.ReadOptions{Skip: workspace.OverrideTF, Terraform: w.Tool.Name == "terraform"})
	if err != nil {
		return "", err.Error()
	}
	config, err := w.Root.ReadFile(workspace.CLIConfigName)
	if err != nil {
		return "", err.Error()
	}
	lockFile, err := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err.Error()
	}
	hash := sha256.New()
	for _, part := range []any{required.Digest, w.Tool.Identity, s.task.spec.Backend.Override, w.Named, lockFile, s.task.spec.Upgrade && len(lockFile) > 0, config} {
		text := mustJSON(part)
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil)), ""
}

// replay puts what an init of the same things left in place; false when there is none, or the mirror has changed since.
func (s *initStep) replay(key string) (bool, error) {
	kept := s.task.inits.get(key)
	if kept == nil {
		return false, nil
	}
	if !kept.current() {
		s.task.inits.drop(key)
		return false, nil
	}
	if err := kept.place(s.site.space); err != nil {
		return false, err
	}
	for _, warning := range kept.warnings {
		s.task.addWarning(warning)
	}
	return true, nil
}

// keep takes what init has just left for others. Only a tree that this run unpacked counts, and of a directory that was
// empty before: a process that an earlier run left behind could write into any other, and what is kept is for stacks of
// everybody.
func (s *initStep) keep(key string) {
	if !s.site.space.Unpacked {
		return
	}
	var warnings []string
	for _, d := range s.program.initSaid {
		if d.Summary != lockFileSummary { // whatever else init has to say, each stack is to hear from init itself
			return
		}
		warnings = append(warnings, d.String())
	}
	if kept := leftByInit(s.site.space, s.downloads.mirrors()); kept != nil {
		kept.warnings = warnings
		s.task.inits.put(key, kept)
	}
}

// mirrors are the directories that providers are linked from.
func (d *downloads) mirrors() []string {
	var dirs []string
	if d.task.opts.ProviderMirror != "" {
		dirs = append(dirs, d.task.opts.ProviderMirror)
	}
	if scope := d.providerScope(); scope != nil {
		dirs = append(dirs, scope.Mirror())
	}
	return dirs
}
