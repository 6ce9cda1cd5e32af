// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// prepare makes the working directory what the spec says, and nothing else.
func (s *prepareStep) prepare(ctx context.Context) error {
	if s.task.spec.Protocol > run.ProtocolVersion {
		return fault.New("", "carry out the run: it is of version %d, this runner understands %d", s.task.spec.Protocol, run.ProtocolVersion)
	}
	if err := s.checkReserve(); err != nil {
		return err
	}
	found, err := s.task.tools.Find(ctx, s.task.spec.Tool)
	s.task.result.ToolVersion, s.task.result.ToolName = found.Version, found.Name
	if err != nil {
		return err
	}
	if s.site.space, err = s.task.area.Open(s.site.order(), s.site.takeClaim()); err != nil {
		return err
	}
	s.site.space.Tool = found
	for _, part := range []func(context.Context) error{s.keeper.keepLeftState, s.placeSource, s.placeFiles, s.makeTemp} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	s.site.space.Env = s.program.environment()
	return nil
}

// placeSource makes the source tree equal to the artifact. The tree of the run before is used again when it is.
func (s *prepareStep) placeSource(ctx context.Context) error {
	w := s.site.space
	if w.Record.UID != s.task.spec.Stack.UID { // a stack of the same name that is gone
		for _, name := range []string{workspace.SourceDir, workspace.HomeDir, workspace.TempDir, workspace.PlanDir, workspace.GivenDir, workspace.RecordName, workspace.LockName, workspace.InitListName, workspace.MadeName} {
			if err := w.Root.RemoveAll(name); err != nil {
				return fault.New(fault.DiskClass(err), "clear the working directory of an earlier %s: %w", s.task.spec.Stack, err)
			}
		}
		w.Record = workspace.Record{UID: s.task.spec.Stack.UID}
		if err := w.Settle(0); err != nil {
			return err
		}
	}
	if err := w.Root.RemoveAll(workspace.HomeDir); err != nil { // nothing of an earlier run speaks to this one
		return fault.New(fault.DiskClass(err), "clear the home directory of %s: %w", s.task.spec.Stack, err)
	}
	if err := s.syncTree(ctx); err != nil {
		return err
	}
	info, err := w.Root.Stat(w.Module)
	if err != nil || !info.IsDir() {
		return fault.New(run.FailureSource, "find the root module: revision %s of the source has no directory %q", s.task.spec.Artifact.Revision, s.task.spec.Path)
	}
	for _, name := range []string{workspace.PlanDir, workspace.GivenDir} { // what is there is of a run whose end nobody saw
		if err := w.Root.RemoveAll(name); err != nil {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	for _, name := range []string{workspace.HomeDir, workspace.PlanDir, workspace.GivenDir} {
		if err := w.Root.MkdirAll(name, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "make %s: %w", name, err)
		}
	}
	return nil
}

// fetch stores what the server has at a path in a file of the spool.
func (t *task) fetch(ctx context.Context, what, name string, limit int64) (string, error) {
	target := t.Dir.Path(name)
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fault.New(fault.DiskClass(err), "fetch the %s: %w", what, err)
	}
	defer file.Close()
	_, err = t.persist(ctx, link.Request{Method: http.MethodGet, Path: "/" + name, Stream: rewindable{file}, Limit: limit})
	var r *link.Refusal
	if errors.As(err, &r) {
		return "", fault.New(r.Problem.Class, "fetch the %s: %w", what, err)
	}
	if err != nil {
		return "", fmt.Errorf("fetch the %s: %w", what, err)
	}
	return target, nil
}

// rewindable is a file that starts anew when a transfer does.
type rewindable struct{ *os.File }

// Reset drops what was written.
func (r rewindable) Reset() {
	_ = r.Truncate(0) // a wrong content is found by its digest
	_, _ = r.Seek(0, 0)
}

// placeFiles writes what is not part of the source: backend, variables, lock file, configuration of tofu.
func (s *prepareStep) placeFiles(context.Context) error {
	w := s.site.space
	if err := w.ClearSecrets(); err != nil {
		return err
	}
	if err := w.Remove(workspace.OverrideTF); err != nil {
		return err
	}
	if s.task.spec.Backend.Override != "" {
		if err := w.Write(w.InModule(workspace.OverrideTF), []byte(s.task.spec.Backend.Override)); err != nil {
			return err
		}
	}
	if len(s.task.spec.Variables) > 0 {
		values := make(map[string]json.RawMessage, len(s.task.spec.Variables))
		for name, v := range s.task.spec.Variables {
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
	config, err := fetch.CLIConfig(s.task.opts.ProviderMirror, s.task.spec.CLIConfig)
	if err != nil {
		return err
	}
	if err := w.Write(workspace.CLIConfigName, config); err != nil {
		return err
	}
	return s.placeMapped()
}

// placeState puts the current state where the local backend looks for it. A stack with a backend of its own has none.
func (s *initStep) placeState(ctx context.Context) error {
	if s.task.spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	fetched := s.keeper.currentState(ctx)
	state, err := fetched.data, fetched.err
	var r *link.Refusal
	if errors.As(err, &r) {
		class := r.Problem.Class
		if class == "" {
			class = run.FailureState
		}
		return fault.New(class, "get the state: %w", err)
	}
	if err != nil {
		return fmt.Errorf("get the state: %w", err)
	}
	if err := s.keeper.heedLeftState(state); err != nil {
		return err
	}
	w := s.site.space
	if err := w.Root.MkdirAll(path.Dir(w.InModule(w.StateIn())), 0o700); err != nil {
		return fault.New(fault.DiskClass(err), "place the state: %w", err)
	}
	if s.keeper.stateFetched = fetched.status; fetched.status == http.StatusNoContent {
		s.keeper.givenState = run.NoState
		return s.keeper.placeEmptyState()
	}
	if !spool.Complete(state) {
		return fault.New(run.FailureState, "place the state: what the server sent is not a state")
	}
	s.keeper.givenState = spool.Digest(state)
	s.task.Lock()
	s.task.Journal.Initial, s.task.Journal.Serial = s.keeper.givenState, spool.SerialOf(state)
	s.task.Unlock()
	if err := w.Write(w.InModule(w.StateIn()), state); err != nil {
		return err
	}
	return s.initForState(ctx, state)
}

// placeEmptyState gives a stack without a state an empty one. As long as tofu has an empty file instead, it reads that
// again before each change, and the states it writes during the apply lack what was created before. The lineage is the
// stack's own, so that a plan and its apply see the same. With encryption a plain state could not be read; then, and
// when in doubt, there is none.
func (k *stateKeeper) placeEmptyState() error {
	if k.site.mayEncrypt() {
		return nil
	}
	sum := sha256.Sum256([]byte(k.task.spec.Stack.UID + "/" + k.site.space.Named))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: made by a rule of one's own
	state := fmt.Appendf(nil, `{"version":4,"terraform_version":%q,"serial":0,"lineage":"%x-%x-%x-%x-%x","outputs":{},"resources":[],"check_results":null}`,
		k.site.space.Tool.Version, sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	k.task.Lock()
	k.task.Journal.Initial = spool.Digest(state)
	k.task.Unlock()
	return k.site.space.Write(k.site.space.InModule(k.site.space.StateIn()), state)
}

// mayEncrypt reports whether the stack could have its state encrypted: by the environment, or by a block whose name
// must then be in one of the root module's files.
func (s *site) mayEncrypt() bool {
	for _, e := range s.task.spec.Env {
		if e.Name == "TF_ENCRYPTION" {
			return true
		}
	}
	directory, err := s.space.Root.Open(s.space.Module)
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
		text, err := s.space.Read(s.space.InModule(name), 16<<20)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(text, []byte("encryption")) {
			return true
		}
	}
	return false
}

// makeTemp makes the private directory for sockets and temporary files. With a file tree of its own a program finds it at /tmp
// wherever it is; then it is on the disk that is measured, and not in memory, as /tmp is on some machines.
func (s *prepareStep) makeTemp(context.Context) error {
	if err := s.site.space.Root.RemoveAll(workspace.TempDir); err != nil {
		return fault.New(fault.DiskClass(err), "clear the directory for temporary files of %s: %w", s.task.spec.Stack, err)
	}
	if s.task.walls.Alone() {
		if err := s.site.space.Root.MkdirAll(workspace.TempDir, 0o700); err != nil {
			return fault.New(fault.DiskClass(err), "make a directory for temporary files: %w", err)
		}
		s.useTemp(filepath.Join(s.site.space.Base, workspace.TempDir))
		return nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(workspace.TempPrefix), filepath.Base(workspace.TempPrefix))
	if err != nil {
		return fault.New(fault.DiskClass(err), "make a directory for temporary files: %w", err)
	}
	if s.site.space.Record.User != 0 {
		if err := os.Chown(temp, s.site.space.Record.User, s.site.space.Record.User); err != nil {
			return fault.New("", "make a directory for temporary files: %w", err)
		}
	}
	s.useTemp(temp)
	return nil
}

func (s *prepareStep) useTemp(temp string) {
	s.site.space.Temp = temp
	s.task.Lock()
	s.task.Journal.TempDir = temp
	s.task.SaveJournal()
	s.task.Unlock()
}
