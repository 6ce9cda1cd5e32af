// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a snapshot of a process.
type Process struct {
	PID int
	// Program is its name, Dir its working directory, Line its command line, with a NUL after each
	// word.
	Program, Dir, Line string
}

func (p Process) String() string {
	return fmt.Sprintf("%d %s in %s (%.200s)", p.PID, p.Program, p.Dir, strings.ReplaceAll(p.Line, "\x00", " "))
}

// About finds the processes that work in or below a directory, or name it, except the caller.
func About(dir string) []Process {
	return Matching(func(p Process) bool {
		return strings.HasPrefix(p.Dir+"/", dir+"/") || strings.Contains(p.Line, dir)
	})
}

// endPatience limits how long killed processes may exist: those that wait for a disk end later.
const endPatience = 30 * time.Second

// End kills the processes about a directory, and returns when all are gone, so that the directory
// can be removed.
func End(dir string) error {
	if !filepath.IsAbs(dir) || len(dir) < len("/tmp/x") {
		return fmt.Errorf("end the processes about %q: that may be everybody's", dir)
	}
	for deadline := time.Now().Add(endPatience); ; time.Sleep(10 * time.Millisecond) {
		left := About(dir)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes in %s live on %v after they were killed: %v", dir, endPatience, left)
		}
		for _, p := range left {
			syscall.Kill(p.PID, syscall.SIGKILL) //nolint:errcheck // it may be gone already
		}
	}
}

// Matching finds processes, except the caller.
func Matching(match func(Process) bool) []Process {
	names, _ := filepath.Glob("/proc/[0-9]*") //nolint:errcheck // the pattern is good
	var found []Process
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(name, "cmdline"))
		if err != nil || len(line) == 0 {
			continue // gone, or a zombie
		}
		p := Process{PID: pid, Line: string(line)}
		p.Dir, _ = os.Readlink(filepath.Join(name, "cwd")) //nolint:errcheck // gone by now: found by its line or not at all
		program, _, _ := strings.Cut(p.Line, "\x00")
		p.Program = filepath.Base(program)
		if match(p) {
			found = append(found, p)
		}
	}
	return found
}
