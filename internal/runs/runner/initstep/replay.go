// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

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
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/initcache"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// planComes reports whether the run makes a plan, which would reveal an incomplete replay.
func (s *Step) planComes() bool {
	return s.run.Spec.Operation == run.OperationPlan || s.run.Spec.Operation == run.OperationPlanAndApply
}

// keepKey identifies everything that init depends on, except the mirror's content. If it is empty,
// why is the reason.
func (s *Step) keepKey() (key, why string) {
	w := s.site.Space
	switch {
	case !s.planComes():
		return "", "no plan comes next"
	case s.run.Spec.Backend.Kind != run.BackendManaged:
		return "", "the backend is the stack's own"
	case len(s.run.Spec.CLIConfig) > 0 || len(s.run.Spec.Backend.Settings) > 0:
		return "", "the tool is configured by the stack"
	}
	for _, e := range s.run.Spec.Env {
		// Other settings may affect init.
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
	for _, part := range []any{required.Digest, w.Tool.Identity, s.run.Spec.Backend.Override, w.Named, lockFile, s.run.Spec.Upgrade && len(lockFile) > 0, config} {
		text := execution.Encode(part)
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil)), ""
}

// replay puts a cached init in place. It reports false if there is none, or the mirror has changed.
func (s *Step) replay(key string) (bool, error) {
	kept := s.run.Inits.Get(key)
	if kept == nil {
		return false, nil
	}
	if !kept.Current() {
		s.run.Inits.Drop(key)
		return false, nil
	}
	if err := kept.Place(s.site.Space); err != nil {
		return false, err
	}
	for _, warning := range kept.Warnings {
		s.run.AddWarning(warning)
	}
	return true, nil
}

// keep caches the result of init for other stacks, if this run unpacked into an empty directory: a
// leftover process could have written to any other.
func (s *Step) keep(key string) {
	if !s.site.Space.Unpacked {
		return
	}
	var warnings []string
	for _, d := range s.program.InitSaid {
		if d.Summary != summary.LockFile { // each stack must get other warnings from init itself
			return
		}
		warnings = append(warnings, d.String())
	}
	if kept := initcache.Read(s.site.Space, s.downloads.mirrors()); kept != nil {
		kept.Warnings = warnings
		s.run.Inits.Put(key, kept)
	}
}

// mirrors are the directories that providers are linked from.
func (d *downloads) mirrors() []string {
	var dirs []string
	if d.run.Opts.ProviderMirror != "" {
		dirs = append(dirs, d.run.Opts.ProviderMirror)
	}
	for _, scope := range d.providerScopes() {
		dirs = append(dirs, scope.Mirror())
	}
	return dirs
}
