// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// overPatience is how long tofu may take to save its state after the run exceeded a limit.
const overPatience = 30 * time.Second

// Process is a tofu process: our child, or one adopted from an earlier runner.
type Process struct {
	Step run.Step
	PID  int
	Cmd  *exec.Cmd // nil for an adopted one
	// Running is Cmd with the readers of its output. Captured output is a document, not a log.
	Running  *confinement.Running
	Captured bool
	FD       int     // pidfd of an adopted one, which names this process forever; -1 without
	record   *Record // of an adopted process
	Limits   run.Limits
	Note     func(format string, args ...any)
	// Begun is true once a direct apply has begun to change resources; nil for other processes.
	Begun *atomic.Bool
	// EndLeft ends processes that this one left and returns their number; nil if the kernel does.
	EndLeft func() int

	mu          sync.Mutex
	interrupted string
	timedOut    bool
	exceeded    string
	killed      bool
	ended       bool
	timers      []*time.Timer
}

// OutputPatience limits reading output after the process's end, when only its children can hold it.
const OutputPatience = 2 * time.Second

// Exit is how a process ended.
type Exit struct {
	// Known is false for an adopted process: only the parent gets the exit code.
	Known bool
	// Held is true if another program still held the output at the end.
	Held        bool
	Code        int
	Signal      syscall.Signal
	CPU         time.Duration
	Interrupted string
	TimedOut    bool
	// Exceeded names the limit that ended the run.
	Exceeded string
	Killed   bool
}

// Changes reports whether stopping the process may leave a change half done.
func (p *Process) Changes() bool {
	return p.Step == run.StepApply && (p.Begun == nil || p.Begun.Load())
}

// WatchTime interrupts the process at its time limit. It ran for already.
func (p *Process) WatchTime(already time.Duration) {
	timeout := time.Duration(p.Limits.Timeout)
	if timeout <= 0 {
		return
	}
	p.after(max(timeout-already, 0), func() {
		p.mu.Lock()
		p.timedOut = p.interrupted == ""
		p.mu.Unlock()
		p.Interrupt(fmt.Sprintf("it took longer than %s", timeout))
	})
}

// Interrupt sends one SIGINT, however often called, and SIGKILL to the group after the grace
// period. A second SIGINT would make tofu drop its state.
func (p *Process) Interrupt(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.interrupted != "" || p.ended {
		return
	}
	p.interrupted = reason
	p.Note("Asking tofu to stop (SIGINT): %s", reason)
	if heeds(p.PID, unix.SIGINT) {
		p.Signal(unix.SIGINT)
	} else {
		go p.signalOnceHeeded(unix.SIGINT)
	}
	p.afterLocked(time.Duration(p.Limits.Grace), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended {
			return
		}
		p.killed = true
		p.Note("Killing tofu (SIGKILL): it did not stop within %s", time.Duration(p.Limits.Grace))
		p.killGroup()
	})
}

// Exceed interrupts a process that exceeded a limit, and kills it after overPatience.
func (p *Process) Exceed(reason string) {
	p.mu.Lock()
	if p.exceeded != "" || p.ended {
		p.mu.Unlock()
		return
	}
	p.exceeded = reason
	p.afterLocked(overPatience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.ended {
			p.killed = true
			p.Note("Killing tofu (SIGKILL): it did not stop within %s", overPatience)
			p.killGroup()
		}
	})
	p.mu.Unlock()
	p.Interrupt(reason)
}

// Kill kills the process and its group, once.
func (p *Process) Kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.killed {
		return
	}
	p.killed = true
	p.Note("Killing tofu (SIGKILL): %s", reason)
	p.killGroup()
}

// Signal signals the process alone, if it still runs. A child keeps its pid until it is waited for.
func (p *Process) Signal(s unix.Signal) {
	if p.Cmd == nil && p.FD >= 0 {
		_ = unix.PidfdSendSignal(p.FD, s, nil, 0)
		return
	}
	if p.Cmd == nil && !p.record.Alive() {
		return
	}
	_ = unix.Kill(p.PID, s)
}

// startsWithin limits a program's start until it handles signals, and its polling interval.
const (
	startsWithin = 10 * time.Second
	startsLook   = 2 * time.Millisecond
)

// signalOnceHeeded signals a new process once it handles the signal, or after startsWithin.
func (p *Process) signalOnceHeeded(s unix.Signal) {
	for deadline := time.Now().Add(startsWithin); !heeds(p.PID, s) && time.Now().Before(deadline); {
		time.Sleep(startsLook)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.Signal(s)
	}
}

// heeds reports whether a process handles a signal. The first process of a namespace does not get
// unhandled ones, so tofu would miss those during its start.
func heeds(pid int, s unix.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	status := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	numbers := strings.Fields(status["NSpid"]) // in this namespace first, in its own last
	if len(numbers) < 2 || numbers[len(numbers)-1] != "1" {
		return true
	}
	caught, err := strconv.ParseUint(status["SigCgt"], 16, 64)
	return err != nil || caught&(1<<(s-1)) != 0 && status["Name"] != sandboxName
}

// sandboxName is the kernel's name of the sandbox's process.
const sandboxName = "yuba-sandbox"

// killGroup kills the process's group, if the process still holds the group's id.
func (p *Process) killGroup() {
	if p.Cmd == nil && p.FD >= 0 {
		const toGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP, of Linux 6.9
		err := unix.PidfdSendSignal(p.FD, unix.SIGKILL, nil, toGroup)
		if !errors.Is(err, unix.EINVAL) || unix.PidfdSendSignal(p.FD, 0, nil, 0) != nil {
			return
		}
	}
	if p.Cmd == nil && !p.record.Alive() {
		return
	}
	_ = unix.Kill(-p.PID, unix.SIGKILL)
}

// Adopt attaches to a recorded process; nil if it has ended.
func Adopt(record *Record, limits run.Limits, note func(string, ...any)) *Process {
	fd, err := unix.PidfdOpen(record.PID, 0)
	if err != nil {
		fd = -1 // the process has ended, the kernel is older than Linux 5.3, or this process has too many descriptors
	}
	if !record.Alive() { // checked once the pid cannot change its meaning
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil
	}
	return &Process{Step: record.Step, PID: record.PID, FD: fd, record: record, Limits: limits, Note: note}
}

func (p *Process) after(d time.Duration, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.afterLocked(d, f)
}

func (p *Process) afterLocked(d time.Duration, f func()) {
	p.timers = append(p.timers, time.AfterFunc(d, f))
}

// Wait returns when the process has ended. It kills the rest of its group while the dead leader
// still holds the group's id, so that the signal cannot reach another group.
func (p *Process) Wait() Exit {
	if p.Cmd == nil {
		p.awaitAdopted()
	} else {
		AwaitChild(p.PID)
	}
	p.mu.Lock()
	p.ended = true
	for _, timer := range p.timers {
		timer.Stop()
	}
	e := Exit{Interrupted: p.interrupted, TimedOut: p.timedOut, Exceeded: p.exceeded, Killed: p.killed}
	if p.Cmd == nil && p.FD >= 0 {
		unix.Close(p.FD)
		p.FD = -1
	}
	p.mu.Unlock()
	left := 0
	if p.EndLeft != nil {
		left = p.EndLeft()
	}
	if p.Cmd == nil {
		return e
	}
	_ = unix.Kill(-p.PID, unix.SIGKILL)
	e.Held = errors.Is(p.Running.Wait(OutputPatience), exec.ErrWaitDelay) || left > 0 && p.Captured // an exit code is not an error here
	e.Known = true
	if state := p.Cmd.ProcessState; state != nil {
		e.Code = state.ExitCode()
		e.CPU = state.UserTime() + state.SystemTime()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			e.Signal = status.Signal()
		}
	}
	return e
}

// AwaitChild waits for the end of a child and leaves it unreaped, so that its pid stays its own.
func AwaitChild(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// AdoptedLook is how often Wait polls an adopted process that has no pidfd.
const AdoptedLook = 100 * time.Millisecond

// awaitAdopted waits for a process that is not our child.
func (p *Process) awaitAdopted() {
	for p.FD < 0 && p.record.Alive() {
		time.Sleep(AdoptedLook)
	}
	for p.FD >= 0 {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(p.FD), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
