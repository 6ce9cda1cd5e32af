// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/backend/local"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// runnerDirectory names the environment variable that makes the test binary a runner which does
// nothing but live.
const runnerDirectory = "YUBA_TEST_RUNNER_DIRECTORY"

// A runner says that it began through one pipe and ends when another is written.
const begunPipe, endPipe = "begun", "end"

func TestMain(m *testing.M) {
	if dir := os.Getenv(runnerDirectory); dir != "" {
		playRunner(dir)
	}
	os.Exit(m.Run())
}

// playRunner takes the lock as a runner does, says its process id, or that another one lives, and
// waits for its end.
func playRunner(dir string) {
	word := strconv.Itoa(os.Getpid())
	if ok, err := flock.New(filepath.Join(dir, local.RunnerLock)).TryLock(); err != nil || !ok {
		word = "another runner lives"
	}
	if err := os.WriteFile(filepath.Join(dir, begunPipe), []byte(word), 0o600); err != nil {
		os.Exit(1)
	}
	if _, err := os.ReadFile(filepath.Join(dir, endPipe)); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// keeper is a keeper of runners and the pipes to those.
type keeper struct {
	t *testing.T
	local.Local
	// command starts a runner in this environment.
	command string
	env     []string
	// ended counts the ends that the keeper told.
	ended atomic.Int32
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	dir := t.TempDir()
	for _, pipe := range []string{begunPipe, endPipe} {
		if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := &keeper{t: t, Local: local.Local{Dir: dir, Log: slog.New(slog.DiscardHandler)}, command: os.Args[0], env: []string{runnerDirectory + "=" + dir}}
	if err := k.Use("test", []string{k.command}, k.env); err != nil {
		t.Fatal(err)
	}
	return k
}

// within does what waits for the other side.
func within[T any](t *testing.T, what string, do func() (T, error)) T {
	t.Helper()
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := do()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			t.Fatalf("%s: %v", what, a.err)
		}
		return a.value
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: it did not happen", what)
	}
	panic("unreachable")
}

// begun waits until a runner says that it lives.
func (k *keeper) begun() int {
	k.t.Helper()
	return within(k.t, "a runner begins", func() (int, error) {
		word, err := os.ReadFile(filepath.Join(k.Dir, begunPipe))
		if err != nil {
			return 0, err
		}
		pid, err := strconv.Atoi(string(word))
		if err != nil {
			return 0, fmt.Errorf("the runner says %q", word)
		}
		return pid, nil
	})
}

// end ends the runner that lives; there must be one.
func (k *keeper) end() {
	k.t.Helper()
	within(k.t, "the runner hears that it should end", func() (any, error) {
		return nil, os.WriteFile(filepath.Join(k.Dir, endPipe), []byte("end"), 0o600)
	})
}

// keep lets the keeper work until the returned function is called.
func (k *keeper) keep() (stop func()) {
	ctx, cancel := context.WithCancel(k.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- k.Run(ctx, ends{k: k})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			k.t.Errorf("the keeper says %v", err)
		}
	}
}

// ends counts the ends of runners.
type ends struct {
	backend.Demand
	k *keeper
}

func (e ends) Ended(home, _ string) {
	if !e.k.Keeps(home) {
		e.k.t.Errorf("told of the end of a runner of %q, which is not kept", home)
	}
	e.k.ended.Add(1)
}

func TestARunnerThatEndedIsStartedAgain(t *testing.T) {
	k := newKeeper(t)
	stop := k.keep()
	first := k.begun()
	k.end()
	if second := k.begun(); second == first {
		t.Errorf("runner %d twice", first)
	}
	if n := k.ended.Load(); n != 1 {
		t.Errorf("told of %d ends, want 1", n)
	}
	stop()
	k.end() // it outlives the server
}

func TestARunnerThatLivesIsLeftAlone(t *testing.T) {
	k := newKeeper(t)
	earlier := exec.CommandContext(t.Context(), k.command)
	earlier.Env = k.env
	if err := earlier.Start(); err != nil {
		t.Fatal(err)
	}
	k.begun()
	stop := k.keep()
	k.end()
	if err := earlier.Wait(); err != nil {
		t.Fatal(err)
	}
	k.begun() // any runner that was started beside the first would say so now
	stop()
	k.end()
}

func TestTheNextServerKeepsTheCredential(t *testing.T) {
	k := newKeeper(t)
	if got, err := k.ReadCredential(); err != nil || got != "" {
		t.Errorf("before the first server: %q, %v", got, err)
	}
	if err := k.WriteConnection(run.Connection{URL: "https://127.0.0.1:1", CA: "pem", Credential: "c1"}); err != nil {
		t.Fatal(err)
	}
	if got, err := k.ReadCredential(); err != nil || got != "c1" {
		t.Errorf("read %q, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(k.Dir, run.ConnectionFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(k.Dir, run.ConnectionFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := k.ReadCredential(); err != nil || got != "" {
		t.Errorf("of a broken file: %q, %v", got, err)
	}
}

func TestARunnersMarkChangesWithItsProgramAndItsArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "yuba")
	mark := func(version, text string, args ...string) string {
		t.Helper()
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(program, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		got, err := local.Mark(version, append([]string{program}, args...))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := mark("v1", "a", "--capacity", "2")
	if again := mark("v1", "a", "--capacity", "2"); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	for sentence, other := range map[string]string{
		"another version":      mark("v2", "a", "--capacity", "2"),
		"another program":      mark("v1", "ab", "--capacity", "2"),
		"another tofu or such": mark("v1", "a", "--capacity", "4"),
	} {
		if other == first {
			t.Errorf("%s has the same mark", sentence)
		}
	}
	var l local.Local
	if err := l.Use("v1", []string{program + ".gone"}, nil); err == nil {
		t.Error("a program that is not there can be used")
	}
	if err := l.Use("v1", []string{program, "--capacity", "8"}, nil); err != nil || l.Starts("") || l.Starts(first) {
		t.Errorf("%v: it would start what it was not told to", err)
	}
}
