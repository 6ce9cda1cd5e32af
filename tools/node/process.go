// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is a process that a file of the node's directory records. Its number may belong to another
// one by now, as after a reboot; the mark does not.
type process struct {
	name, file string
	pid        int
	mark       string
	handle     *os.Process
}

// record writes which process a part runs as.
func record(dir, name string, pid int) error {
	mark, err := markOf(pid)
	if err != nil {
		return fmt.Errorf("it ended at once: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, name+".pid"), fmt.Appendf(nil, "%d %s", pid, mark), 0o600)
}

// recorded reads which process a part runs as; nil if none is recorded.
func recorded(dir, name string) (*process, error) {
	p := &process{name: name, file: filepath.Join(dir, name+".pid")}
	content, err := os.ReadFile(p.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pid, mark, marked := strings.Cut(string(content), " ")
	if p.pid, err = strconv.Atoi(pid); err != nil || !marked || p.pid <= 1 {
		return nil, fmt.Errorf("%s does not identify a process. Stop %s yourself and delete the file", p.file, name)
	}
	p.mark = mark
	// The handle stays with the process. alive then checks that it is the recorded one.
	p.handle, err = os.FindProcess(p.pid)
	return p, err
}

// alive reports whether the recorded process runs.
func (p *process) alive() bool {
	mark, err := markOf(p.pid)
	return err == nil && mark == p.mark
}

// signal sends a signal to the recorded process only.
func (p *process) signal(s os.Signal) {
	if p.alive() {
		_ = p.handle.Signal(s) //nolint:errcheck // the caller checks whether it has ended
	}
}

// markOf identifies a process by the machine's boot and its own start.
func markOf(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name in parentheses may contain anything. Behind it are the state and, as the 20th, the start.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" {
		return "", fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19], nil
}
