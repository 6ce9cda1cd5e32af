// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is the current usage of a run's processes.
type Usage struct {
	// Processes counts processes and their threads.
	Processes int64
	// Memory includes swap, but no pages of files on disks.
	Memory int64
}

// Program is a run's first process and its mark.
type Program struct {
	PID  int
	Mark uint64
}

// Measure sums up each program with its descendants. It stops counting above most processes.
func (w Walls) Measure(programs []Program, most int64) []Usage {
	all := make([]Usage, len(programs))
	for i, members := range w.members(programs, most) {
		for _, pid := range members {
			all[i].add(pid)
		}
	}
	return all
}

// EndOthers kills what a program started, but not the program, which may have something to save.
func (w Walls) EndOthers(p Program) {
	for _, pid := range w.members([]Program{p}, maxMembers)[0] {
		if pid == p.PID {
			continue
		}
		process, alive := Hold(pid)
		if !alive {
			continue
		}
		if w.isMember(pid, p) { // asked when the number can no longer change its meaning
			process.Signal(unix.SIGKILL)
		}
		process.Release()
	}
}

// maxMembers is the limit when all processes of a run are meant.
const maxMembers = 1 << 20

// members are the processes of each program: in a namespace of its own the descendants of the
// first, to which the kernel gives orphans; elsewhere those with the mark.
func (w Walls) members(programs []Program, most int64) [][]int {
	all := make([][]int, len(programs))
	if !w.Alone() || !hasChildren() {
		marked := markedPIDs()
		for i, p := range programs {
			all[i] = marked[p.Mark]
		}
		return all
	}
	for i, p := range programs {
		all[i] = []int{p.PID}
		for next := 0; next < len(all[i]) && int64(len(all[i])) <= most; next++ {
			all[i] = append(all[i], childrenOf(all[i][next])...)
		}
	}
	return all
}

func (w Walls) isMember(pid int, p Program) bool {
	if !w.Alone() {
		mark, _ := markOf(pid)
		return mark == p.Mark
	}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	theirs, errTheirs := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.PID))
	return err == nil && errTheirs == nil && own == theirs
}

// hasChildren reports whether the kernel lists children.
func hasChildren() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
}

// childrenOf lists the processes that any thread of a process started.
func childrenOf(pid int) (children []int) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// add adds the usage of a process; none if it has ended.
func (u *Usage) add(pid int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	number := func(line string) int64 {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			return 0
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	dead := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "State":
			dead = strings.HasPrefix(strings.TrimSpace(value), "Z")
		case "Threads":
			u.Processes += number(value)
			if dead { // it waits for its parent to ask; its other threads may live on
				u.Processes--
			}
		case "RssAnon", "RssShmem", "VmSwap":
			u.Memory += number(value) << 10
		}
	}
}

// Unnamed is the content of open files without a name.
type Unnamed struct {
	// Bytes is their size on disk.
	Bytes int64
	// Over is true if there are more open files than were measured.
	Over bool
}

// MeasureUnnamed measures up to most open files of a program and its descendants: directories do
// not list those without a name.
func (w Walls) MeasureUnnamed(p Program, most int) (u Unnamed) {
	seen := map[file]bool{}
	left := most
	for _, pid := range w.members([]Program{p}, maxMembers)[0] {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		names := namesIn(dir, left+1)
		if left -= len(names); left < 0 {
			u.Over = true
			return u
		}
		for _, name := range names {
			f, size, unnamed := statUnnamed(filepath.Join(dir, name))
			if unnamed && !seen[f] {
				seen[f] = true
				u.Bytes += size
			}
		}
	}
	return u
}

// namesIn lists up to most names in a directory; none if it is gone.
func namesIn(dir string, most int) []string {
	open, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer open.Close()
	names, _ := open.Readdirnames(most)
	return names
}

// file identifies a file regardless of its names.
type file struct{ device, inode uint64 }

// statUnnamed reports whether an open file has no name and is on a disk.
func statUnnamed(at string) (f file, size int64, unnamed bool) {
	var stat unix.Stat_t
	if unix.Stat(at, &stat) != nil || stat.Nlink > 0 || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return file{}, 0, false
	}
	name, err := os.Readlink(at)
	if err != nil || strings.HasPrefix(name, "/memfd:") {
		return file{}, 0, false
	}
	return file{uint64(stat.Dev), stat.Ino}, stat.Blocks * 512, true //nolint:unconvert // 32 bits on some systems
}
