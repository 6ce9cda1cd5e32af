// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/run"
)

// process is a tofu process, our child or one adopted from a runner before.
type process struct {
	step   run.Step
	pid    int
	cmd    *exec.Cmd // nil for an adopted one
	fd     int       // of an adopted one: it means this process for ever, unlike the number; -1 without
	limits run.Limits
	note   func(format string, args ...any)

	mu          sync.Mutex
	interrupted string
	timedOut    bool
	killed      bool
	ended       bool
	timers      []*time.Timer
}

// exit is how a process ended. An adopted one has no code: only a parent is told.
type exit struct {
	known       bool
	code        int
	signal      syscall.Signal
	cpu         time.Duration
	interrupted string
	timedOut    bool
	killed      bool
}

// watchTime asks the process to stop when its time is over.
func (p *process) watchTime(already time.Duration) {
	timeout := time.Duration(p.limits.Timeout)
	if timeout <= 0 {
		return
	}
	p.after(max(timeout-already, 0), func() {
		p.mu.Lock()
		p.timedOut = p.interrupted == ""
		p.mu.Unlock()
		p.interrupt(fmt.Sprintf("it took longer than %s", timeout))
	})
}

// interrupt asks the process to stop: one SIGINT to its own id, whoever asks how often, and SIGKILL to its group when
// the grace period has passed.
func (p *process) interrupt(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.interrupted != "" || p.ended {
		return
	}
	p.interrupted = reason
	p.note("Asking tofu to stop (SIGINT): %s", reason)
	p.signal(unix.SIGINT)
	p.afterLocked(time.Duration(p.limits.Grace), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended {
			return
		}
		p.killed = true
		p.note("Killing tofu (SIGKILL): it did not stop within %s", time.Duration(p.limits.Grace))
		p.killGroup()
	})
}

// signal reaches the process itself; it may have ended. Until a child is waited for, its number is nobody else's.
func (p *process) signal(s unix.Signal) {
	if p.cmd == nil && p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, s, nil, 0)
		return
	}
	_ = unix.Kill(p.pid, s)
}

// killGroup kills what is in the process' group, if the process is still there to hold the group's number.
func (p *process) killGroup() {
	if p.cmd == nil && p.fd >= 0 {
		const toGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP, of Linux 6.9
		err := unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, toGroup)
		if !errors.Is(err, unix.EINVAL) || unix.PidfdSendSignal(p.fd, 0, nil, 0) != nil {
			return
		}
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
}

// adopted takes hold of a recorded process, nil when it has ended.
func adopted(record *processRecord, limits run.Limits, note func(string, ...any)) *process {
	fd, err := unix.PidfdOpen(record.PID, 0)
	if err != nil {
		fd = -1 // the kernel is older than tofu's own Go runtime supports, or the process has ended
	}
	if !record.alive() { // asked when the number can no longer change its meaning
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil
	}
	return &process{step: record.Step, pid: record.PID, fd: fd, limits: limits, note: note}
}

func (p *process) after(d time.Duration, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.afterLocked(d, f)
}

func (p *process) afterLocked(d time.Duration, f func()) {
	p.timers = append(p.timers, time.AfterFunc(d, f))
}

// wait returns when the process has ended. What it left running in its group is killed while the dead leader still
// holds the group's number, so that nobody else's group can be hit.
func (p *process) wait() exit {
	if p.cmd == nil {
		waitPidfd(p.fd)
	} else {
		for {
			err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
	p.mu.Lock()
	p.ended = true
	for _, timer := range p.timers {
		timer.Stop()
	}
	e := exit{interrupted: p.interrupted, timedOut: p.timedOut, killed: p.killed}
	if p.cmd == nil && p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	p.mu.Unlock()
	if p.cmd == nil {
		return e
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	_ = p.cmd.Wait() // an exit code is not an error here
	e.known = true
	if state := p.cmd.ProcessState; state != nil {
		e.code = state.ExitCode()
		e.cpu = state.UserTime() + state.SystemTime()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			e.signal = status.Signal()
		}
	}
	return e
}

// waitPidfd waits for a process that is not our child.
func waitPidfd(fd int) {
	if fd < 0 {
		return
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// record identifies a running process beyond its number.
func record(step run.Step, pid int, logStart int64) *processRecord {
	return &processRecord{Step: step, PID: pid, Start: startTime(pid), Boot: bootID(), LogStart: logStart}
}

// alive reports whether the recorded process still runs: a number alone may belong to another one by now.
func (r *processRecord) alive() bool {
	return r != nil && r.Start != "" && r.Boot == bootID() && startTime(r.PID) == r.Start
}

// age is how long the recorded process has been running.
func (r *processRecord) age() time.Duration {
	ticks, err := strconv.ParseInt(r.Start, 10, 64)
	var up unix.Sysinfo_t
	if err != nil || unix.Sysinfo(&up) != nil {
		return 0
	}
	const ticksPerSecond = 100 // of /proc, the same on every architecture
	return max(0, time.Duration(up.Uptime)*time.Second-time.Duration(ticks)*time.Second/ticksPerSecond)
}

// startTime is field 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets. A dead process whose
// parent has not asked for its end yet counts as gone.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

var bootID = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it start times alone must do
	return strings.TrimSpace(string(text))
})
