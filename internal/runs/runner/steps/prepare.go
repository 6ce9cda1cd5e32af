// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/identity"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// prepareStep prepares the working directory for the run's spec.
type prepareStep struct {
	run     *execution.Run
	site    *execution.Site
	keeper  *statekeeper.Keeper
	program *supervisor.Supervisor
	tokens  *identity.Tokens
}

// checkReserve fails if a disk has less free space than is reserved for the server.
func (s *prepareStep) checkReserve() error {
	if s.run.Spec.Operation == run.OperationShell { // a user may free space in it
		return nil
	}
	const message = "start the run of %s: only %s in %s, and %s are reserved for the server. Nothing was changed. Free some space; Yuba retries automatically"
	m := s.run.Meter.Machine()
	switch {
	case m.Disk.Lacking() > 0:
		return fault.New(run.FailureDisk, message, s.run.Spec.Stack, usage.MiB(m.Disk.Free)+" are free", m.Disk.Dir, usage.MiB(m.Disk.Reserve))
	case m.Files.Lacking() > 0:
		return fault.New(run.FailureDisk, message, s.run.Spec.Stack, usage.FileCount(m.Files.Free)+" can still be created", m.Files.Dir, usage.FileCount(m.Files.Reserve))
	}
	return nil
}

// placeMapped writes the run's files. It records them first, so that the next run can remove them.
func (s *prepareStep) placeMapped() error {
	w := s.site.Space
	if err := w.RemovePlaced(); err != nil {
		return err
	}
	if len(s.run.Spec.Files) == 0 {
		return nil
	}
	for _, f := range s.run.Spec.Files {
		if err := s.checkFile(f); err != nil {
			return err
		}
		if execution.IsLockFile(f) { // init starts from it, and leaves another
			continue
		}
		w.Record.Placed = append(w.Record.Placed, path.Join(w.Location(f), f.Path))
	}
	if err := w.Save(); err != nil {
		return err
	}
	for _, f := range s.run.Spec.Files {
		if execution.IsLockFile(f) {
			continue
		}
		if err := w.Place(w.Location(f), f.Path, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// checkFile rejects paths that leave their location, and files that the runner or the tool writes.
func (s *prepareStep) checkFile(f run.File) error {
	if f.Location != run.FileInHome && f.Location != run.FileInModule {
		return fault.New(run.FailureConfiguration, "write the file %s: %q is not a valid location", f.Path, f.Location)
	}
	if !filepath.IsLocal(f.Path) || f.Path != path.Clean(f.Path) || f.Path == "." {
		return fault.New(run.FailureConfiguration, "write the file %q: the path must name a file below the %s directory", f.Path, f.Location)
	}
	first, _, _ := strings.Cut(f.Path, "/")
	if f.Location == run.FileInModule && (first == workspace.DataDirTF || first == workspace.OverrideTF || slices.Contains(workspace.SecretFiles, first)) {
		return fault.New(run.FailureConfiguration, "write the file %s: the path is reserved for Yuba and the tool", f.Path)
	}
	return nil
}

// prepare prepares the working directory for the spec.
func (s *prepareStep) prepare(ctx context.Context) error {
	if s.run.Spec.Protocol > run.ProtocolVersion {
		return fault.New("", "start the run: its protocol version is %d, this runner supports %d", s.run.Spec.Protocol, run.ProtocolVersion)
	}
	if err := s.checkReserve(); err != nil {
		return err
	}
	found, err := s.findTool(ctx)
	s.run.Result.ToolVersion, s.run.Result.ToolName = found.Version, found.Name
	if err != nil {
		return err
	}
	if s.site.Space, err = s.run.Area.Open(s.site.Order(), s.site.TakeClaim()); err != nil {
		return err
	}
	s.site.Space.Tool = found
	for _, part := range []func(context.Context) error{s.keeper.KeepLeftState, s.placeSource, s.placeFiles, s.tokens.Place, s.makeTemp} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	s.site.Space.Env = s.program.Environment()
	return nil
}

// placeSource makes the source tree equal to the artifact. It reuses a tree that already is.
func (s *prepareStep) placeSource(ctx context.Context) error {
	w := s.site.Space
	if w.Record.UID != s.run.Spec.Stack.UID { // a stack of the same name that is gone
		for _, name := range []string{workspace.SourceDir, workspace.HomeDir, workspace.TempDir, workspace.PlanDir, workspace.GivenDir, workspace.RecordName, workspace.LockName, workspace.InitListName, workspace.MadeName} {
			if err := w.Root.RemoveAll(name); err != nil {
				return fault.New(fault.DiskClass(err), "clear the working directory of an earlier %s: %w", s.run.Spec.Stack, err)
			}
		}
		w.Record = workspace.Record{UID: s.run.Spec.Stack.UID}
		if err := w.Settle(0); err != nil {
			return err
		}
	}
	if err := w.Root.RemoveAll(workspace.HomeDir); err != nil { // nothing of an earlier run may affect this one
		return fault.New(fault.DiskClass(err), "clear the home directory of %s: %w", s.run.Spec.Stack, err)
	}
	if err := s.syncTree(ctx); err != nil {
		return err
	}
	info, err := w.Root.Stat(w.Module)
	if err != nil || !info.IsDir() {
		return fault.New(run.FailureSource, "find the root module: revision %s of the source has no directory %q", s.run.Spec.Artifact.Revision, s.run.Spec.Path)
	}
	for _, name := range []string{workspace.PlanDir, workspace.GivenDir} { // remains of a run that did not end normally
		if err := w.Root.RemoveAll(name); err != nil {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	for _, name := range []string{workspace.HomeDir, workspace.PlanDir, workspace.GivenDir} {
		if err := w.Root.MkdirAll(name, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "make %s: %w", name, err)
		}
	}
	return s.linkHome()
}

// linkHome makes the run's home the one at the usual path.
func (s *prepareStep) linkHome() error {
	if !s.run.HomeLink {
		return nil
	}
	err := os.Remove(confinement.HomePath)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Symlink(filepath.Join(s.site.Space.Base, workspace.HomeDir), confinement.HomePath)
	}
	if err != nil {
		return fault.New("", "make the home directory: %w", err)
	}
	return nil
}

// placeFiles writes the files outside the source: backend, variables, tofu's configuration.
func (s *prepareStep) placeFiles(context.Context) error {
	w := s.site.Space
	if err := w.ClearSecrets(); err != nil {
		return err
	}
	if err := w.Remove(workspace.OverrideTF); err != nil {
		return err
	}
	if s.run.Spec.Backend.Override != "" {
		if err := w.Write(w.InModule(workspace.OverrideTF), []byte(s.run.Spec.Backend.Override)); err != nil {
			return err
		}
	}
	if len(s.run.Spec.Variables) > 0 {
		values := make(map[string]json.RawMessage, len(s.run.Spec.Variables))
		for name, v := range s.run.Spec.Variables {
			values[name] = v.Value
		}
		text, err := json.Marshal(values)
		if err != nil {
			return fault.New(run.FailureConfiguration, "write the variables: one of their values is not JSON")
		}
		if err := w.Write(w.InModule(workspace.TfvarsName), text); err != nil {
			return err
		}
	}
	config, err := fetch.CLIConfig(s.run.Opts.ProviderMirror, s.run.Spec.CLIConfig)
	if err != nil {
		return err
	}
	if err := w.Write(workspace.CLIConfigName, config); err != nil {
		return err
	}
	return s.placeMapped()
}

// makeTemp makes the private directory for sockets and temporary files: /tmp in a confined
// program's file tree, so that it counts as disk use.
func (s *prepareStep) makeTemp(context.Context) error {
	if err := s.site.Space.Root.RemoveAll(workspace.TempDir); err != nil {
		return fault.New(fault.DiskClass(err), "clear the directory for temporary files of %s: %w", s.run.Spec.Stack, err)
	}
	if s.run.Walls.Alone() {
		if err := s.site.Space.Root.MkdirAll(workspace.TempDir, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "create a directory for temporary files: %w", err)
		}
		s.useTemp(filepath.Join(s.site.Space.Base, workspace.TempDir))
		return nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(workspace.TempPrefix), filepath.Base(workspace.TempPrefix))
	if err != nil {
		return fault.New(fault.DiskClass(err), "create a directory for temporary files: %w", err)
	}
	if s.site.Space.Record.User != 0 {
		if err := os.Chown(temp, s.site.Space.Record.User, s.site.Space.Record.User); err != nil {
			return fault.New("", "create a directory for temporary files: %w", err)
		}
	}
	s.useTemp(temp)
	return nil
}

func (s *prepareStep) useTemp(temp string) {
	s.site.Space.Temp = temp
	s.run.Lock()
	s.run.Journal.TempDir = temp
	s.run.SaveJournal()
	s.run.Unlock()
}
