// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/run"
)

const maxLockFile = 1 << 20

// init runs tofu init unless everything it depends on is as it was when it last succeeded here.
func (j *job) init(ctx context.Context) error {
	w := j.space
	want := j.initDigest()
	if !j.spec.Upgrade && w.record.Init == want && w.initialised() {
		j.log.note("Init: nothing has changed since the last one")
		return j.reportLockFile()
	}
	if w.record.Init != "" {
		w.record.Init = ""
		if err := w.save(); err != nil {
			return err
		}
	}
	if err := j.freshLockFile(); err != nil {
		return err
	}
	args := []string{"init", "-input=false", "-no-color"}
	if w.tool.jsonInit() {
		args = append(args, "-json")
	}
	if j.spec.Upgrade {
		args = append(args, "-upgrade")
	}
	settings, removeSettings, err := j.placeSettings()
	if err != nil {
		return err
	}
	defer removeSettings()
	args = append(args, settings...)
	j.log.note("Init: %s %s", w.tool.name, w.tool.version)
	switch {
	case !w.own: // where the state was kept before is nothing to ask about: it is here
		err = w.forgetBackend()
	case w.named == "default": // an earlier run may have selected another one
		err = w.remove(selectedName)
	}
	if err != nil {
		return err
	}
	// init refuses a selected workspace that does not exist yet, unless it is the local backend's or the only one.
	unselected := w.own && w.named != "default"
	err = j.initCommand(ctx, unselected, args...)
	if errors.Is(err, errOtherBackend) {
		j.log.note("Init: again, with the new backend alone")
		if err := w.forgetBackend(); err != nil {
			return err
		}
		err = j.initCommand(ctx, unselected, args...)
	}
	if err != nil {
		return err
	}
	if unselected {
		if err := j.selectWorkspace(ctx); err != nil {
			return err
		}
	}
	return j.recordInit(want)
}

func (j *job) selectWorkspace(ctx context.Context) error {
	err := j.initCommand(ctx, true, "workspace", "select", "-or-create", "-no-color", j.space.named)
	var f *failure
	if errors.As(err, &f) && f.outcome == "" && (f.class == "" || f.class == run.FailureTool || f.class == run.FailureConfiguration) {
		return failed(run.FailureWorkspace, "select the workspace %s: %w", j.space.named, err)
	}
	return err
}

// forceUnlock breaks the lock of an own backend. One that is gone or another's by now is for the plan to find.
func (j *job) forceUnlock(ctx context.Context) error {
	if !j.space.own {
		return nil
	}
	c := command{step: run.StepInit, args: []string{"force-unlock", "-force", "-no-color", j.spec.ForceUnlock}}
	stream, e, err := j.tofu(ctx, c)
	if err != nil {
		return err
	}
	err = j.verdict(c, stream, e, 0)
	var f *failure
	if errors.As(err, &f) && (f.outcome != "" || f.class == run.FailureLimit || f.class == run.FailureKilled) {
		return err
	}
	if err != nil {
		j.warn("the lock %s was not broken: %v", j.spec.ForceUnlock, err)
		return nil
	}
	j.log.note("Broke the lock %s", j.spec.ForceUnlock)
	return nil
}

// initCommand runs one process of the init step, without a workspace in its environment when unselected.
func (j *job) initCommand(ctx context.Context, unselected bool, args ...string) error {
	c := command{step: run.StepInit, args: args, unselected: unselected}
	stream, e, err := j.tofu(ctx, c)
	if err != nil {
		return err
	}
	j.takeWarnings(stream)
	for _, d := range stream.Errors() {
		if d.Summary == backendSummary {
			return &failure{class: run.FailureConfiguration, err: fmt.Errorf("%w: %w", errOtherBackend, stream.Errors())}
		}
	}
	return j.verdict(c, stream, e, 0)
}

// backendSummary is the summary of the diagnostic that tofu and terraform give when the backend is not the one they
// remember.
const backendSummary = "Backend configuration changed"

var errOtherBackend = errors.New("the backend is another one than before")

// forgetBackend makes init take the backend as it finds it, as in a fresh checkout. Moving states between backends is
// nobody's wish here.
func (w *workspace) forgetBackend() error {
	return w.remove(dataDirTF+"/"+stateName, selectedName)
}

// initDigest covers what init reads. Variables are in it because modules and providers may be named by them.
func (j *job) initDigest() string {
	w := j.space
	config, _ := w.root.ReadFile(cliConfigName) // written a moment ago
	env := j.spec.Env
	if j.spec.Backend.Kind == run.BackendManaged {
		env = nil
	}
	hash := sha256.New()
	for _, part := range []any{j.spec.Artifact.Digest, w.module, j.spec.Backend, j.spec.LockFile, w.tool.identity, w.named, j.spec.Variables, env, config} {
		text, _ := json.Marshal(part) // plain values; a variable that is no JSON failed before
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	if len(j.spec.Files) > 0 {
		text := mustJSON(j.spec.Files)
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// initialised reports whether the products of the last init are still there, the lock file unchanged.
func (w *workspace) initialised() bool {
	info, err := w.root.Lstat(w.inModule(dataDirTF))
	if err != nil || !info.IsDir() {
		return false
	}
	return w.lockFileDigest() == w.record.LockFile && (!w.own || w.selected() == w.record.Selected)
}

// selectedName is where the tool remembers which workspace is selected. A person's shell may have selected another one.
const selectedName = dataDirTF + "/environment"

func (w *workspace) selected() string {
	text, err := w.read(w.inModule(selectedName), 1<<10)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "unreadable"
	}
	return string(text)
}

func (w *workspace) lockFileDigest() string {
	text, err := w.read(w.inModule(lockFileTF), maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "unreadable"
	}
	return digestOf(text)
}

// freshLockFile puts the lock file in place that init is to start from: the source's own, else the recorded one.
func (j *job) freshLockFile() error {
	w := j.space
	if w.record.HasLockFile {
		text, err := w.read(lockName, maxLockFile)
		if err != nil {
			return failed("", "read the source's dependency lock file: %w", err)
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

// recordInit remembers what init was for, so that the next run can go without.
func (j *job) recordInit(digest string) error {
	w := j.space
	w.record.Init, w.record.LockFile, w.record.Selected = digest, w.lockFileDigest(), ""
	if w.own {
		w.record.Selected = w.selected()
	}
	if err := w.save(); err != nil {
		return err
	}
	return j.reportLockFile()
}

// reportLockFile gives a lock file that the source does not bring to the server, when it is new.
func (j *job) reportLockFile() error {
	if j.space.record.HasLockFile {
		return nil
	}
	text, err := j.space.read(j.space.inModule(lockFileTF), maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a module without providers has none
	}
	if err != nil {
		return failed("", "read the dependency lock file: %w", err)
	}
	if !bytes.Equal(text, j.spec.LockFile) {
		j.result.LockFile = text
		j.mu.Lock()
		j.journal.LockFile = text
		j.mu.Unlock()
	}
	return nil
}
