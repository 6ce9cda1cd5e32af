// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executions counts the programs started from below a directory, by any process. The kernel reports
// each (fanotify), so Yuba's processes and those of plain tofu are counted the same way, and short
// ones are not missed.
type executions struct {
	root string

	mu     sync.Mutex
	groups []group
	names  map[string]int
	err    error
	// Closing stop ends the reader, which polls the other end.
	stop, stopped *os.File
	ended         chan struct{}
}

// group is a source of the kernel's events. If it has a name, all events are of that program;
// otherwise each event names its own.
type group struct {
	fd   int
	name string
}

// watchExecutions counts programs started from below a directory. Only root may watch a whole file
// system; other users watch the given programs.
func watchExecutions(directory string, programs ...string) (*executions, error) {
	e := &executions{root: directory, names: map[string]int{}, ended: make(chan struct{})}
	err := e.watchAll()
	if errors.Is(err, unix.EPERM) {
		err = e.watchPrograms(programs)
	}
	if err == nil {
		e.stopped, e.stop, err = os.Pipe()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("count started programs: %w", err), e.closeGroups())
	}
	go e.read()
	return e, nil
}

// watchAll watches the file system of the directory. Only root may.
func (e *executions) watchAll() error {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	e.groups = append(e.groups, group{fd: fd})
	return unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN_EXEC, unix.AT_FDCWD, e.root)
}

// watchPrograms watches each program separately: without root, events do not name the program.
func (e *executions) watchPrograms(programs []string) error {
	for _, program := range programs {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_REPORT_FID, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
		if err != nil {
			return err
		}
		e.groups = append(e.groups, group{fd: fd, name: filepath.Base(program)})
		if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_EXEC, unix.AT_FDCWD, program); err != nil {
			return err
		}
	}
	return nil
}

// read takes events immediately, so that the kernel's queue stays short.
func (e *executions) read() {
	defer close(e.ended)
	for {
		wait := []unix.PollFd{{Fd: int32(e.stopped.Fd()), Events: unix.POLLIN}}
		for _, g := range e.groups {
			wait = append(wait, unix.PollFd{Fd: int32(g.fd), Events: unix.POLLIN}) //nolint:gosec // a file's number
		}
		if _, err := unix.Poll(wait, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if wait[0].Revents != 0 {
			return
		}
		e.mu.Lock()
		e.drain()
		e.mu.Unlock()
	}
}

// counts returns how often each program was started. The kernel queues an event before the program
// runs, so it includes every program that has ended.
func (e *executions) counts() (map[string]int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drain()
	return maps.Clone(e.names), e.err
}

// drain reads all queued events. The caller holds the lock.
func (e *executions) drain() {
	buffer := make([]byte, 64<<10)
	for _, g := range e.groups {
		for {
			n, err := unix.Read(g.fd, buffer)
			if err != nil || n <= 0 {
				break
			}
			e.note(g, buffer[:n])
		}
	}
}

func (e *executions) note(g group, events []byte) {
	const size = int(unsafe.Sizeof(unix.FanotifyEventMetadata{}))
	for len(events) >= size {
		event := (*unix.FanotifyEventMetadata)(unsafe.Pointer(&events[0])) //nolint:gosec // the kernel's layout, and the size is checked
		if event.Mask&unix.FAN_Q_OVERFLOW != 0 {
			e.err = errors.New("count started programs: the kernel's queue of events overflowed")
		}
		name := g.name
		if event.Fd >= 0 {
			name = e.nameOf(int(event.Fd))
		}
		if name != "" && event.Mask&unix.FAN_OPEN_EXEC != 0 {
			e.names[name]++
		}
		if event.Event_len < uint32(size) || int(event.Event_len) > len(events) {
			return
		}
		events = events[event.Event_len:]
	}
}

// nameOf is the name of the event's program; empty for programs outside of the directory.
func (e *executions) nameOf(fd int) string {
	defer unix.Close(fd) //nolint:errcheck // opened only for its name
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || !strings.HasPrefix(path, e.root+"/") {
		return ""
	}
	return filepath.Base(path)
}

func (e *executions) closeGroups() error {
	var err error
	for _, g := range e.groups {
		err = errors.Join(err, unix.Close(g.fd))
	}
	return err
}

// close stops counting.
func (e *executions) close() error {
	err := e.stop.Close() // the other end sees that
	<-e.ended
	return errors.Join(err, e.stopped.Close(), e.closeGroups())
}

// started is the number of starts of each program between two counts.
func started(before, after map[string]int) processes {
	var p processes
	for name, n := range after {
		n -= before[name]
		switch {
		case name == "tofu":
			p.tofu += n
		case strings.HasPrefix(name, "terraform-provider-"):
			p.provider += n
		}
	}
	return p
}

// processes is how many were started.
type processes struct{ tofu, provider int }
