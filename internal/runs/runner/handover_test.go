// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// A stack of the server's user gets its own user, and the runner dies after recording that user but
// before the handover. The next run must be able to write.
func TestARunnerThatDiesDuringAHandoverLeavesItToTheNext(t *testing.T) {
	b := newBench(t)
	b.needsUsers()
	sandbox := b.opts.Sandbox
	first := b.unconfined().process()
	r := b.stack("handover", run.OperationPlanAndApply, program(`
variable "n" {}
resource "terraform_data" "a" { input = var.n }`))
	r.spec.Variables = map[string]run.Variable{"n": {Value: []byte("1")}}
	b.succeed(r)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed, of course
	b.opts.Sandbox = sandbox

	base := filepath.Join(b.opts.WorkRoot, "team", "handover")
	user := b.cutHandover(base)
	b.process()
	next := r.again(run.OperationPlanAndApply)
	next.spec.Variables = map[string]run.Variable{"n": {Value: []byte("2")}}
	b.succeed(next)
	if owner := ownerOf(t, filepath.Join(base, workspace.SourceDir)); owner != user {
		t.Errorf("the source belongs to %d, want %d", owner, user)
	}
	if record := recordIn(t, base); record.User != user || record.Handover {
		t.Errorf("%+v", record)
	}
}

// An apply runs as the server's user when a runner with own users for programs takes over. It keeps
// its files until it ends, so that it can write its state.
func TestAnApplyKeepsItsFilesWhileItIsTakenOver(t *testing.T) {
	b := newBench(t)
	b.needsUsers()
	sandbox := b.opts.Sandbox
	r, _, open := b.unconfined().orphaned("keeps", func(r *fakeRun) {
		r.artifact, r.spec.Artifact = b.other(strings.Replace(gated, "cat gate", "cat gate && echo the owner is $(stat -c %u .)", 1))
		r.spec.ReadOutputs = true
	})
	b.opts.Sandbox = sandbox
	b.start()
	b.server.wait(r, "the new runner", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
	open()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded || !result.Applied {
		t.Errorf("%+v\n%s", result, r.log)
	}
	logged(t, r, "the owner is 0")
	b.succeed(r.again(run.OperationPlanAndApply))
}

// cutHandover does the part of a handover that a dying runner completes.
func (b *bench) cutHandover(base string) (user int) {
	b.t.Helper()
	root, err := os.OpenRoot(base)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	if user, err = b.runner().Users.Next(); err != nil {
		b.t.Fatal(err)
	}
	w := &workspace.Workspace{Base: base, Root: &workspace.Root{Root: root, User: user}, Record: recordIn(b.t, base)}
	if err := w.BeginHandover(user); err != nil {
		b.t.Fatal(err)
	}
	return user
}

func recordIn(t testing.TB, base string) (record workspace.Record) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(base, workspace.RecordName))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func ownerOf(t testing.TB, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid) //nolint:forcetypeassert,errcheck // of a file on Linux
}
