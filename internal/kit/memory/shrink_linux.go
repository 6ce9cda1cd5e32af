// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Shrink returns memory. Call it when a process has started and not begun to work, or is idle. If
// it fails, the process just stays large.
func Shrink() error {
	debug.FreeOSMemory()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("read this process's memory map: %w", err)
	}
	for _, m := range cleanMappings(string(smaps), self) {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("return the program's pages: %w", errno)
		}
	}
	return nil
}

// resident returns this process's resident memory in bytes.
func resident() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

type mapping struct{ start, end uintptr }

// cleanMappings finds the unmodified read-only mappings of a file, which the kernel can reload,
// except those that the dynamic loader changed before it protected them.
func cleanMappings(smaps, file string) []mapping {
	var found []mapping
	var current *mapping
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"):
			current = header(line, fields, file)
		case fields[0] == "Anonymous:" && current != nil:
			if len(fields) > 1 && fields[1] == "0" {
				found = append(found, *current)
			}
			current = nil
		}
	}
	return found
}

// header parses the first line of a mapping; nil if it belongs to another file or is writable.
func header(line string, fields []string, file string) *mapping {
	if len(fields) < 6 || fields[1][1] == 'w' || !strings.HasSuffix(strings.TrimSuffix(line, "\n"), " "+file) {
		return nil
	}
	from, to, _ := strings.Cut(fields[0], "-")
	start, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return nil
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil || end <= start {
		return nil
	}
	return &mapping{uintptr(start), uintptr(end)}
}
