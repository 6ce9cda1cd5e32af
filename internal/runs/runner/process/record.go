// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Record identifies a process until the machine goes down.
type Record struct {
	Step run.Step `json:"step"`
	PID  int      `json:"pid"`
	// Start is the process's start time in clock ticks since boot, Boot the boot's id.
	Start string `json:"start"`
	Boot  string `json:"boot"`
	// LogStart is the log's length at the process's start.
	LogStart int64 `json:"logStart"`
	// Mount is the mount of its output, Secured the output's allocated size; 0 for unknown.
	Mount   uint64 `json:"mount,omitempty"`
	Secured int64  `json:"secured,omitempty"`
	// Relay is the relay of its network; nil for none.
	Relay *Record `json:"relay,omitempty"`
}

// Identify makes the record of a running process.
func Identify(step run.Step, pid int, logStart int64) *Record {
	return &Record{Step: step, PID: pid, Start: StartTime(pid), Boot: BootID(), LogStart: logStart}
}

// Alive reports whether the recorded process still runs; another may have its pid.
func (r *Record) Alive() bool {
	return r != nil && r.Start != "" && r.Boot == BootID() && StartTime(r.PID) == r.Start
}

// Age is how long the recorded process has been running.
func (r *Record) Age() time.Duration {
	ticks, err := strconv.ParseInt(r.Start, 10, 64)
	var up unix.Sysinfo_t
	if err != nil || unix.Sysinfo(&up) != nil {
		return 0
	}
	const ticksPerSecond = 100 // of /proc, the same on every architecture
	return max(0, time.Duration(up.Uptime)*time.Second-time.Duration(ticks)*time.Second/ticksPerSecond)
}

// StartTime is field 22 of /proc/PID/stat, in ticks since boot; empty for ended processes and
// zombies. The name in field 2 may contain spaces and brackets.
func StartTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	for errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) { // until files are closed: it may still run
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

// BootID is the id that the kernel gives to each boot.
var BootID = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, start times alone must do
	return strings.TrimSpace(string(text))
})

// Doubt says why output may be lost although its file exists: the machine went down, the file
// system was remounted, or the output exceeded its allocated space.
func (r *Record) Doubt(output string) string {
	var stat unix.Stat_t
	switch {
	case r.Boot == "" || r.Boot != BootID():
		return "the machine went down"
	case r.Mount != MountID(output):
		return "its disk was unmounted"
	case r.Secured > 0 && (unix.Stat(output, &stat) != nil || stat.Size > r.Secured):
		return "the disk may have been full temporarily"
	}
	return ""
}

// MountID is the unique id of a path's mount, 0 before Linux 6.8. A remount may lose unsynced data.
func MountID(path string) uint64 {
	var s unix.Statx_t
	// Linux 6.8 never reuses a mount's number.
	if unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID_UNIQUE, &s) != nil || s.Mask&unix.STATX_MNT_ID_UNIQUE == 0 {
		return 0
	}
	return s.Mnt_id
}
