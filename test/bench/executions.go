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

// executions counts the programs that are started from below a directory, whoever starts them: the kernel tells of each
// (fanotify), so that Yuba's are counted the way those by hand are, and none is missed because it was short.
type executions struct {
	root string

	mu     sync.Mutex
	groups []group
	names  map[string]int
	err    error
	// stop ends the reader when it is closed, which waits for events on the other end.
	stop, stopped *os.File
	ended         chan struct{}
}

// group is what the kernel fills with events. All of them are of the program of that name, when it has one; else each
// says of which.
type group struct {
	fd   int
	name string
}

// watchExecutions counts what is started from below a directory. Who may not watch a whole file system, as only root
// may, watches the given programs.
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
		return nil, errors.Join(fmt.Errorf("count what is started: %w", err), e.closeGroups())
	}
	go e.read()
	return e, nil
}

// watchAll watches the file system that the directory is on. Only root may.
func (e *executions) watchAll() error {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	e.groups = append(e.groups, group{fd: fd})
	return unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN_EXEC, unix.AT_FDCWD, e.root)
}

// watchPrograms watches each program on its own: without more rights the kernel does not say which one an event is of.
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

// read takes events as they come, so that the kernel's queue stays short.
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

// counts says how often each program was started so far. The kernel queues an event before the program runs, so nothing
// that has ended is missing.
func (e *executions) counts() (map[string]int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drain()
	return maps.Clone(e.names), e.err
}

// drain takes all events that are there. The lock is held.
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
			e.err = errors.New("count what is started: more programs were started than the kernel remembers")
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

// nameOf is the program that an event is of, empty for one that is none of ours.
func (e *executions) nameOf(fd int) string {
	defer unix.Close(fd) //nolint:errcheck // opened to be looked at
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

// close ends the counting.
func (e *executions) close() error {
	err := e.stop.Close() // the other end sees that
	<-e.ended
	return errors.Join(err, e.stopped.Close(), e.closeGroups())
}

// started is what of each program was started between two counts.
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
