// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc/PID/stat, on all architectures.
const clockTick = 10 * time.Millisecond

// cpuOf is the CPU time of a process and of its children that have ended.
func cpuOf(pid int) (time.Duration, error) {
	own, children, err := cpuParts(pid)
	return own + children, err
}

// cpuParts is the CPU time of a process itself, and of its children that have ended.
func cpuParts(pid int) (own, children time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The name in field 2 may contain any character; later fields count from 3. Read 14 to 17.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("read the CPU time of process %d: too few fields", pid)
	}
	var ticks [4]time.Duration
	for i, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
		}
		ticks[i] = time.Duration(n) * clockTick
	}
	return ticks[0] + ticks[1], ticks[2] + ticks[3], nil
}

// memory is the memory of a process: resident, and proportional, in which pages that several
// processes map are divided between them. files is the part of proportional that consists of pages
// of files, mostly of the program; the kernel reclaims these when it needs memory.
type memory struct{ resident, proportional, files int64 }

func (m memory) plus(n memory) memory {
	return memory{m.resident + n.resident, m.proportional + n.proportional, m.files + n.files}
}

func memoryOf(pid int) (memory, error) {
	var m memory
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return m, fmt.Errorf("read the memory of process %d: %w", pid, err)
		}
		switch fields[0] {
		case "Rss:":
			m.resident = n << 10
		case "Pss:":
			m.proportional = n << 10
		case "Pss_File:":
			m.files = n << 10
		}
	}
	return m, nil
}

// peakOf is the sum of the peak memory of processes.
func peakOf(pids ...int) (int64, error) {
	var total int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("read the peak memory of process %d: %w", pid, err)
				}
				total += n << 10
			}
		}
	}
	return total, nil
}
