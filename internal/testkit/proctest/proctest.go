// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package proctest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a process as it was a moment ago.
type Process struct {
	PID int
	// Program is its name, Dir where it works, Line its command line, with a NUL behind each word.
	Program, Dir, Line string
}

func (p Process) String() string {
	return fmt.Sprintf("%d %s in %s (%.200s)", p.PID, p.Program, p.Dir, strings.ReplaceAll(p.Line, "\x00", " "))
}

// About finds the processes that work in a directory, or below it, or name it; never the one that asks.
func About(dir string) []Process {
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
		if !strings.HasPrefix(p.Dir+"/", dir+"/") && !bytes.Contains(line, []byte(dir)) {
			continue
		}
		program, _, _ := strings.Cut(p.Line, "\x00")
		p.Program = filepath.Base(program)
		found = append(found, p)
	}
	return found
}
