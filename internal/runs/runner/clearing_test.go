// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// envClears makes the test binary create and remove that directory as a non-root user.
const envClears = "YUBA_TEST_CLEARS"

// nobody is a user to whom permission bits apply.
const nobody = 65534

// abyss nests directories deeper than paths and descriptors reach, without any permissions.
func abyss(dir string, depth int) error {
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	for range depth {
		if err != nil {
			return err
		}
		var inner int
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			inner, err = unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_RDONLY, 0)
		}
		err = errors.Join(err, unix.Fchmod(at, 0), unix.Close(at))
		at = inner
	}
	return errors.Join(err, unix.Fchmod(at, 0), unix.Close(at))
}

// clears creates a working directory whose program removed all permissions, and removes it with few
// file descriptors.
func clears(dir string) error {
	few := unix.Rlimit{Cur: 100, Max: 100}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		return err
	}
	base := filepath.Join(dir, "team", "locked")
	deep := filepath.Join(base, "src", "a", "b")
	outside := filepath.Join(dir, "outside")
	err := errors.Join(os.MkdirAll(deep, 0o700), os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "stays"), nil, 0o600),
		os.WriteFile(filepath.Join(base, workspace.RecordName), execution.Encode(workspace.Record{UID: "uid"}), 0o600),
		os.WriteFile(filepath.Join(deep, "file"), nil, 0o000), os.Symlink(outside, filepath.Join(deep, "link")),
		os.Chmod(outside, 0o500), os.Mkdir(filepath.Join(base, "home"), 0o700), abyss(filepath.Join(base, "home"), 20_000))
	for at := deep; at != base; at = filepath.Dir(at) {
		err = errors.Join(err, os.Chmod(at, 0o000))
	}
	if err != nil {
		return err
	}
	if os.RemoveAll(base) == nil {
		return errors.New("the permission bits are in nobody's way: nothing was tried")
	}
	if err := os.WriteFile(filepath.Join(base, workspace.RecordName), execution.Encode(workspace.Record{UID: "uid"}), 0o600); err != nil {
		return err
	}
	if err := workspace.RemoveDir(base, "uid"); err != nil {
		return err
	}
	if _, err := os.Lstat(base); err == nil {
		return fmt.Errorf("%s is still there", base)
	}
	if info, err := os.Stat(filepath.Join(outside, "stays")); err != nil || info.Size() != 0 {
		return fmt.Errorf("what a link led to: %w", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		return fmt.Errorf("what a link led to has another mode: %v, %w", info, err)
	}
	return nil
}

// A program that removes all permissions from its directory must not block the stack's name
// forever.
func TestWhatAProgramLockedIsCleared(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Dir = []string{envClears + "=" + dir}, "/"
	if os.Geteuid() == 0 { // permission bits do not stop root: use another user
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	t.Cleanup(func() { // else the test's directory cannot be removed
		if err := workspace.RemoveTree(dir); err != nil {
			t.Error(err)
		}
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// descendants returns all descendants of a process.
func descendants(t *testing.T, of int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		text, readErr := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil || readErr != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
	}
	var all []int
	for pid := range parents {
		for at := pid; at > 1; at = parents[at] {
			if parents[at] == of {
				all = append(all, pid)
				break
			}
		}
	}
	return all
}

// If runner and tofu are killed, tofu's children survive without a namespace. The next runner ends
// them.
func TestNothingOfAKilledRunStays(t *testing.T) {
	for name, tool := range map[string]func(*bench, string) (*fakeRun, func()){
		"an apply":           func(b *bench, name string) (*fakeRun, func()) { return b.applying(name) },
		"an apply in one go": func(b *bench, name string) (*fakeRun, func()) { return b.applying(name, direct) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first := b.process()
			r, _ := tool(b, "stays")
			pid := b.journal(r).Process.PID
			started := map[int]string{}
			for _, child := range descendants(t, pid) {
				started[child] = process.StartTime(child)
			}
			if len(started) == 0 {
				t.Fatal("tofu did not start any process")
			}
			if err := errors.Join(first.Process.Kill(), syscall.Kill(pid, syscall.SIGKILL)); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait() // killed, of course
			b.process()
			if result := b.server.finished(r); result.Outcome != run.OutcomeInterrupted {
				t.Errorf("%+v", result)
			}
			for child, since := range started {
				if process.StartTime(child) == since && since != "" {
					t.Errorf("process %d still runs", child)
				}
			}
		})
	}
}
