// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// TakeOverShell ends the processes of a shell whose own process died.
func (s *Step) TakeOverShell() error {
	s.endLeftovers()
	if !s.run.Journal.ApplyStarted {
		return &fault.Failure{Step: s.run.InterruptedStep(), Outcome: run.OutcomeCanceled, Err: errors.New("the shell's process ended before the shell was open")}
	}
	return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Err: errors.New(
		"the shell's process was killed. The states written by then are kept; an operation in progress may have changed infrastructure without recording it in the state")}
}

// endLeftovers ends processes of the shell before the lock is released: SIGTERM, then SIGKILL.
func (s *Step) endLeftovers() {
	left := processesOf(s.run.ID)
	if len(left) > 0 {
		s.run.Log.Warn("Asking processes started from the shell to stop")
	}
	deadline := time.Now().Add(time.Duration(s.run.Spec.Limits.Grace))
	asked := map[int]bool{} // signal once: at a second signal tofu aborts
	for ; len(left) > 0; left = processesOf(s.run.ID) {
		late := time.Now().After(deadline)
		for pid, p := range left {
			if _, child := left[p.parent]; late || !child && !asked[pid] {
				p.end(late)
				asked[pid] = true
			}
		}
		for _, p := range left {
			p.await(deadline)
		}
	}
	if end := s.run.EndLeft(); end != nil { // processes that removed the shell's mark have the run's
		end()
	}
}

// leftover is a process that was started from a shell.
type leftover struct {
	process confinement.Held
	parent  int
}

// processesOf finds the other live processes whose environment has the shell's mark.
func processesOf(id string) map[int]leftover {
	found := map[int]leftover{}
	mark := append([]byte{0}, shellMark(id)...)
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		process, alive := confinement.Hold(pid)
		if !alive {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		whole := append(append([]byte{0}, env...), 0)
		if err != nil || !bytes.Contains(whole, append(mark, 0)) {
			process.Release()
			continue
		}
		found[pid] = leftover{process: process, parent: parentOf(pid)}
	}
	return found
}

// parentOf is field 4 of /proc/PID/stat.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

func (p leftover) end(kill bool) {
	signal := unix.SIGTERM
	if kill {
		signal = unix.SIGKILL
	}
	p.process.Signal(signal)
}

// lookEvery is how often new processes are searched for.
const lookEvery = time.Second

// await waits for the end of the process, but not longer than lookEvery.
func (p leftover) await(deadline time.Time) {
	defer p.process.Release()
	p.process.Await(min(lookEvery, max(time.Until(deadline), 10*time.Millisecond)))
}
