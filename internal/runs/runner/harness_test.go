// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// envRunner makes the test binary a runner that tests can kill.
const envRunner = "YUBA_TEST_RUNNER_OPTIONS"

var sandboxPath string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(envWaits) != "" {
		time.Sleep(time.Minute) // the signal ends it much earlier, or the test fails
		return 0
	}
	if dir := os.Getenv(envClears); dir != "" {
		if err := clears(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if text := os.Getenv(envShell); text != "" {
		return playPerson(text)
	}
	if text := os.Getenv(envRunner); text != "" {
		var opts execution.Options
		if err := json.Unmarshal([]byte(text), &opts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		opts.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
		if err := Run(context.Background(), opts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	dir, err := os.MkdirTemp("", "yuba-runner-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sandboxPath = filepath.Join(dir, "yuba-sandbox")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/", "github.com/yuba-dev/yuba/cmd/yuba-sandbox", "github.com/yuba-dev/yuba/cmd/yuba-network")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build yuba-sandbox and yuba-network: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// bench has a data directory, a fake server and options for a runner.
type bench struct {
	t      testing.TB
	data   string
	opts   execution.Options
	server *fakeServer
	// drain lets the runner finish and waits for it to exit.
	drain func()
}

func newBench(t testing.TB) *bench {
	data := t.TempDir()
	opts := execution.Options{
		Dir: filepath.Join(data, "runner"), WorkRoot: filepath.Join(data, "work"), Sandbox: sandboxPath, Tofu: tofutest.Tofu(t), ProviderMirror: filepath.Join(data, "providers"),
		Capacity: 4, Version: "test", ServerGone: 3 * time.Second,
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, data: data, opts: opts, server: newFakeServer(t, opts.Dir)}
}

// walls returns the walls of the bench's runners.
func (b *bench) walls() confinement.Walls { return b.runner().Walls }

// needsUsers skips tests of programs with own users unless we are root.
func (b *bench) needsUsers() {
	b.t.Helper()
	switch {
	case b.walls().Users:
	case os.Geteuid() == 0:
		b.t.Fatal("programs have no users of their own here, although this is root")
	default:
		b.t.Skip("only root can give programs users of their own")
	}
}

// runner returns a runner without jobs.
func (b *bench) runner() *runner {
	b.t.Helper()
	opts := b.opts
	opts.Log = slog.New(slog.DiscardHandler)
	r := newRunner(opts)
	if err := r.buildWalls(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// start runs a runner in this process until the test ends.
func (b *bench) start() *bench {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	opts := b.opts
	opts.Log = slog.New(slog.DiscardHandler)
	go func() { done <- Run(ctx, opts) }()
	stopped := false
	end := func() {
		if stopped {
			return
		}
		stopped = true
		select {
		case err := <-done:
			if err != nil {
				b.t.Errorf("the runner: %v", err)
			}
		case <-time.After(30 * time.Second):
			b.t.Error("the runner does not end")
		}
	}
	b.t.Cleanup(func() {
		cancel()
		end()
	})
	b.drain = func() {
		b.server.drainNow()
		end()
	}
	return b
}

// process starts a runner as a separate process.
func (b *bench) process() *exec.Cmd {
	b.t.Helper()
	opts := b.opts
	opts.Log = nil
	text, err := json.Marshal(opts)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = []string{envRunner + "=" + string(text), "PATH=" + os.Getenv("PATH"), "SECRET_OF_THE_RUNNER=parent-environment"}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// stack makes a run of an inline program.
func (b *bench) stack(name string, operation run.Operation, files map[string]string) *fakeRun {
	b.t.Helper()
	var file bytes.Buffer
	digest, err := archive.PackInline(files, &file)
	if err != nil {
		b.t.Fatal(err)
	}
	packed := file.Bytes()
	limits := run.DefaultLimits()
	limits.Grace = run.Duration(20 * time.Second)
	return &fakeRun{
		artifact: packed,
		answer:   run.ContinueResponse{Go: true},
		spec: run.Spec{
			Protocol: run.ProtocolVersion, ID: run.NewID(time.Now()), Operation: operation, Purpose: run.PurposeDeploy,
			Stack:     run.Stack{Namespace: "team", Name: name, UID: "uid-" + name},
			Artifact:  run.Artifact{Digest: digest, Revision: "rev1", Size: int64(len(packed))},
			Workspace: "default", Limits: limits,
			Backend: run.Backend{Kind: run.BackendManaged, Override: "terraform {\n  backend \"local\" {}\n}\n"},
		},
	}
}

// again makes another run of the stack, starting from the state of the first.
func (r *fakeRun) again(operation run.Operation) *fakeRun {
	next := &fakeRun{spec: r.spec, artifact: r.artifact, answer: r.answer, state: r.lastState()}
	next.spec.ID, next.spec.Operation, next.spec.Plan = run.NewID(time.Now()), operation, nil
	return next
}

func (r *fakeRun) lastState() []byte {
	if len(r.states) > 0 {
		return r.states[len(r.states)-1]
	}
	return r.state
}

// do submits a run and returns its result.
func (b *bench) do(r *fakeRun) *run.Result {
	b.t.Helper()
	return b.server.finished(b.server.submit(r))
}

// succeed is do for a run that must succeed.
func (b *bench) succeed(r *fakeRun) *run.Result {
	b.t.Helper()
	result := b.do(r)
	if result.Outcome != run.OutcomeSucceeded {
		b.t.Fatalf("outcome %s in %s (%s): %s\nlog:\n%s", result.Outcome, result.FailedStep, result.Class, result.Error, r.log)
	}
	return result
}
