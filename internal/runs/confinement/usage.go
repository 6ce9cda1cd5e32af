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

// Usage is what the processes of a run take at one moment.
type Usage struct {
	// Processes counts processes and their threads.
	Processes int64
	// Memory is what they have in memory or swap, without what is of files on disks.
	Memory int64
}

// Program is what a run has started: the number of its first process, and the mark that all of its
// processes have.
type Program struct {
	PID  int
	Mark uint64
}

// Measure adds up what each of the programs, and everything it started, takes. It stops counting
// above so many processes.
func (w Walls) Measure(programs []Program, most int64) []Usage {
	all := make([]Usage, len(programs))
	for i, members := range w.members(programs, most) {
		for _, pid := range members {
			all[i].add(pid)
		}
	}
	return all
}

// EndOthers kills what a program has started, and leaves the program itself, which may have
// something to save.
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

// maxMembers is how many processes of a run are looked for when all of them are meant.
const maxMembers = 1 << 20

// members are the processes of each program. In a namespace of its own all of them descend from the
// first, to which the kernel gives every orphan; elsewhere they have the mark, and the machine's
// processes are looked at once for all programs.
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

// hasChildren says whether the kernel lists children.
func hasChildren() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
}

// childrenOf lists what any thread of a process has started.
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

// add adds what a process takes; one that has ended takes nothing.
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

// Unnamed is what programs hold in files that have no name any more.
type Unnamed struct {
	// Bytes is how much of a disk that is.
	Bytes int64
	// Over says that more files are open than were to be looked at. The rest was not.
	Over bool
}

// MeasureUnnamed is how much of a disk a program and what it started hold in files that have no
// name any more: no measurement of directories finds them. It looks at so many open files at most.
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

// namesIn lists a directory, up to so many names; one that is gone has none.
func namesIn(dir string, most int) []string {
	open, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer open.Close()
	names, _ := open.Readdirnames(most)
	return names
}

// file is one, whatever its names are.
type file struct{ device, inode uint64 }

// statUnnamed looks at an open file, and says whether it has no name and is on a disk.
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
