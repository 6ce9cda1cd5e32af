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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// process is a tofu process, our child or one adopted from a runner before.
type process struct {
	step run.Step
	pid  int
	cmd  *exec.Cmd // nil for an adopted one
	// running is the same with what reads its output; captured says that this is a document, not a log.
	running  *confinement.Running
	captured bool
	fd       int            // of an adopted one: it means this process for ever, unlike the number; -1 without
	record   *processRecord // of an adopted one
	limits   run.Limits
	note     func(format string, args ...any)
	// begun says of a process that plans and applies in one go whether it has begun to change anything; nil for all others.
	begun *atomic.Bool
	// endLeft ends what the process left running and says how many that were; nil where the kernel does that.
	endLeft func() int

	mu          sync.Mutex
	interrupted string
	timedOut    bool
	exceeded    string
	killed      bool
	ended       bool
	timers      []*time.Timer
}

// outputPatience is how long the socket that the process wrote to is read after its end. What it wrote itself is in there by
// then; only a program that it started can still hold it.
const outputPatience = 2 * time.Second

// exit is how a process ended. An adopted one has no code: only a parent is told.
type exit struct {
	known bool
	// held is true when something that outlived the process kept the socket that it wrote to.
	held        bool
	code        int
	signal      syscall.Signal
	cpu         time.Duration
	interrupted string
	timedOut    bool
	// exceeded says which limit the run was over, if it was ended for that.
	exceeded string
	killed   bool
}

// changes says whether stopping the process may leave a change half done.
func (p *process) changes() bool {
	return p.step == run.StepApply && (p.begun == nil || p.begun.Load())
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
	if heeds(p.pid, unix.SIGINT) {
		p.signal(unix.SIGINT)
	} else {
		go p.signalOnceHeeded(unix.SIGINT)
	}
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

// exceed asks a process to stop that takes too much, and kills it when it does not do so soon.
func (p *process) exceed(reason string) {
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
			p.note("Killing tofu (SIGKILL): it did not stop within %s", overPatience)
			p.killGroup()
		}
	})
	p.mu.Unlock()
	p.interrupt(reason)
}

// kill kills the process with its group, once.
func (p *process) kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.killed {
		return
	}
	p.killed = true
	p.note("Killing tofu (SIGKILL): %s", reason)
	p.killGroup()
}

// signal reaches the process itself; it may have ended. Until a child is waited for, its number is nobody else's.
func (p *process) signal(s unix.Signal) {
	if p.cmd == nil && p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, s, nil, 0)
		return
	}
	if p.cmd == nil && !p.record.alive() {
		return
	}
	_ = unix.Kill(p.pid, s)
}

// startsWithin is how long a program may take from its start until it heeds signals, and again this how often it is looked.
const (
	startsWithin = 10 * time.Second
	startsLook   = 2 * time.Millisecond
)

// signalOnceHeeded signals a process that has just been started as soon as it heeds that, and at the latest when it should.
func (p *process) signalOnceHeeded(s unix.Signal) {
	for deadline := time.Now().Add(startsWithin); !heeds(p.pid, s) && time.Now().Before(deadline); {
		time.Sleep(startsLook)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.signal(s)
	}
}

// heeds says whether a signal is more than lost on a process. The kernel keeps from the first process of a namespace every
// signal that it has no handler for: of tofu those that come before it has begun, and while the sandbox becomes tofu.
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

// sandboxName is what the kernel calls the sandbox's process.
const sandboxName = "yuba-sandbox"

// killGroup kills what is in the process' group, if the process is still there to hold the group's number.
func (p *process) killGroup() {
	if p.cmd == nil && p.fd >= 0 {
		const toGroup = 1 << 2 // PIDFD_SIGNAL_PROCESS_GROUP, of Linux 6.9
		err := unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, toGroup)
		if !errors.Is(err, unix.EINVAL) || unix.PidfdSendSignal(p.fd, 0, nil, 0) != nil {
			return
		}
	}
	if p.cmd == nil && !p.record.alive() {
		return
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
}

// adopted takes hold of a recorded process, nil when it has ended.
func adopted(record *processRecord, limits run.Limits, note func(string, ...any)) *process {
	fd, err := unix.PidfdOpen(record.PID, 0)
	if err != nil {
		fd = -1 // the process has ended, the kernel is older than Linux 5.3, or this process has too many descriptors
	}
	if !record.alive() { // asked when the number can no longer change its meaning
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil
	}
	return &process{step: record.Step, pid: record.PID, fd: fd, record: record, limits: limits, note: note}
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
		p.awaitAdopted()
	} else {
		awaitChild(p.pid)
	}
	p.mu.Lock()
	p.ended = true
	for _, timer := range p.timers {
		timer.Stop()
	}
	e := exit{interrupted: p.interrupted, timedOut: p.timedOut, exceeded: p.exceeded, killed: p.killed}
	if p.cmd == nil && p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	p.mu.Unlock()
	left := 0
	if p.endLeft != nil {
		left = p.endLeft()
	}
	if p.cmd == nil {
		return e
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	e.held = errors.Is(p.running.Wait(outputPatience), exec.ErrWaitDelay) || left > 0 && p.captured // an exit code is not an error here
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

// awaitChild waits for the end of a child, whose number stays its own until it is waited for.
func awaitChild(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// adoptedLook is how often it is asked whether a process has ended that is neither a child nor held by a descriptor.
const adoptedLook = 100 * time.Millisecond

// awaitAdopted waits for a process that is not our child.
func (p *process) awaitAdopted() {
	for p.fd < 0 && p.record.alive() {
		time.Sleep(adoptedLook)
	}
	for p.fd >= 0 {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, -1)
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
	for errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) { // until files are closed: it may well be running
		time.Sleep(startsLook)
		text, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	}
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
