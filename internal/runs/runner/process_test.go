// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// lasting starts a program that runs until it is told to end.
func lasting(t *testing.T, limits run.Limits) (*exec.Cmd, *process.Process) {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	running, err := confinement.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, &process.Process{Step: run.StepApply, PID: cmd.Process.Pid, Cmd: cmd, Running: running, Limits: limits, Note: func(string, ...any) {}}
}

func TestPanicOfAJobStopsItsToolBeforeTheJobIsOver(t *testing.T) {
	r := &runner{Equipment: &execution.Equipment{Opts: execution.Options{Log: slog.New(slog.DiscardHandler), Dir: t.TempDir()}}, active: map[string]*job{}, finished: make(chan struct{}, 1)}
	j := r.newJob("r1", "")
	_, p := lasting(t, run.Limits{Grace: run.Duration(time.Minute)})
	activeAtTheEnd := make(chan bool, 1)
	p.Note = func(string, ...any) { // it is about to be stopped
		r.lock.Lock()
		activeAtTheEnd <- r.active["r1"] != nil
		r.lock.Unlock()
	}
	r.begin(j, func() {
		j.run.Stop.Attach(p)
		panic("a mistake")
	})
	r.group.Wait()
	if process.StartTime(p.PID) != "" {
		t.Error("the tool still runs")
	}
	if len(activeAtTheEnd) != 1 || !<-activeAtTheEnd || r.active["r1"] != nil {
		t.Error("the job was over before its tool, or never")
	}
}

func TestAdoptedProcessIsTheOneThatWasRecorded(t *testing.T) {
	note := func(string, ...any) {}
	for name, grace := range map[string]time.Duration{"it stops when it is asked": time.Minute, "it is killed with its group": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			cmd, _ := lasting(t, run.Limits{})
			recorded := process.Identify(run.StepApply, cmd.Process.Pid, 0)
			other := *recorded
			other.Start = "1"
			if p := process.Adopt(&other, run.Limits{}, note); p != nil {
				t.Fatal("another process of the same number was adopted")
			}
			p := process.Adopt(recorded, run.Limits{Grace: run.Duration(grace)}, note)
			if p == nil || p.FD < 0 {
				t.Fatalf("not adopted: %+v", p)
			}
			p.Interrupt("the test says so")
			if e := p.Wait(); e.Known || e.Interrupted == "" {
				t.Errorf("%+v", e)
			}
			if p.Signal(syscall.SIGINT); process.Adopt(recorded, run.Limits{}, note) != nil {
				t.Error("adopted after its end")
			}
		})
	}
}

// Without a pidfd, the runner still waits for a process and signals it.
func TestAnAdoptedProcessWithoutADescriptor(t *testing.T) {
	cmd, _ := lasting(t, run.Limits{})
	recorded := process.Identify(run.StepApply, cmd.Process.Pid, 0)
	p := process.Adopt(recorded, run.Limits{Grace: run.Duration(time.Minute)}, func(string, ...any) {})
	if p == nil {
		t.Fatal("not adopted")
	}
	unix.Close(p.FD)
	p.FD = -1
	ended := make(chan process.Exit, 1)
	go func() { ended <- p.Wait() }()
	select {
	case <-ended:
		t.Fatal("a running process counts as ended")
	case <-time.After(3 * process.AdoptedLook):
	}
	p.Interrupt("the test says so")
	if e := <-ended; e.Interrupted == "" || recorded.Alive() {
		t.Errorf("%+v", e)
	}
}

// The runner recognizes an unrecorded process by its working directory and its environment. A
// user's login shell may be in the same directory.
func TestOnlyWhatTheRunnerStartedIsFoundInAWorkingDirectory(t *testing.T) {
	base := t.TempDir()
	w := &workspace.Workspace{Base: base, Dir: filepath.Join(base, workspace.SourceDir)}
	if err := os.Mkdir(w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	begin := func(env ...string) int {
		cmd := exec.Command("sleep", "60")
		cmd.Dir, cmd.Env, cmd.SysProcAttr = w.Dir, env, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	begin("HOME=/")
	if pid := sessionIn(w); pid != 0 {
		t.Errorf("found %d, which this test did not start", pid)
	}
	ours := begin("HOME=/", "TF_CLI_CONFIG_FILE="+filepath.Join(base, workspace.CLIConfigName))
	if pid := sessionIn(w); pid != ours {
		t.Errorf("found %d, want %d", pid, ours)
	}
}

// envWaits makes the test binary wait for SIGINT, which ends it by default.
const envWaits = "YUBA_TEST_WAITS"

// The kernel drops signals for a namespace's first process until it has a handler. A stop during
// tofu's start must still reach it, exactly once.
func TestAWishToStopReachesAProgramThatHasJustBegun(t *testing.T) {
	b := newBench(t)
	r := b.runner()
	cell := confinement.Cell{Dir: t.TempDir(), Executable: append([]string{os.Args[0]}, fetch.SystemExecutable...)}
	cell.Writable = []string{cell.Dir}
	if r.Walls.Users {
		var err error
		if cell.User, err = r.Users.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		cmd := r.Walls.Command(t.Context(), cell, os.Args[0])
		cmd.Env = []string{envWaits + "=1"}
		running, err := confinement.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		p := &process.Process{Step: run.StepPlan, PID: cmd.Process.Pid, Cmd: cmd, Running: running, Limits: run.Limits{Grace: run.Duration(time.Minute)}, Note: func(string, ...any) {}}
		time.Sleep(time.Duration(i) * 250 * time.Microsecond) // at varying points of its life
		p.Interrupt("the test says so")
		if e := p.Wait(); e.Killed || e.Code == 0 && e.Signal == 0 {
			t.Fatalf("after %d: %+v", i, e)
		}
	}
}
