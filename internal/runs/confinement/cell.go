// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Cell lists what a program may use. Its paths are absolute.
type Cell struct {
	// User is the program's own, from [Users], if the walls have users.
	User int
	// Environment is as in exec.Cmd.
	Environment []string
	// Dir is the working directory, below one of the paths.
	Dir string
	// Writable paths can also be executed, and Executable ones read. Missing paths are ignored.
	Writable, Executable, Readable []string
	// Home and Temp are writable. In a file tree of its own they are at HomePath and TempPath.
	Home, Temp string
	// NoNetwork leaves it a loopback interface, if it has namespaces of its own. With a Relay, it has
	// a tunnel, too.
	NoNetwork bool
	Relay     *Relay
	// Listen are further ports to listen on, beside those that the kernel chooses.
	Listen []uint16
	// Limits limit the program.
	Limits Limits
	// Mark is the run's.
	Mark uint64
	// Background gives it a low priority.
	Background bool
}

// Limits are per process; zero is none.
type Limits struct {
	// Processes counts the user's processes and threads, in its user namespace.
	Processes uint64
	// Files are open files and connections.
	Files uint64
	// FileBytes is the size of one file, DataBytes the memory of one process.
	FileBytes, DataBytes uint64
}

// The home and temporary directory in a program's own file tree, as in tofu-controller's runners.
const (
	HomePath = "/home/runner"
	TempPath = "/tmp"
)

// HomeOf is the path of its home that a program sees.
func (w Walls) HomeOf(c Cell) string {
	if w.Alone() {
		return HomePath
	}
	return c.Home
}

// TempOf is the path of its temporary directory that a program sees.
func (w Walls) TempOf(c Cell) string {
	if w.Alone() {
		return TempPath
	}
	return c.Temp
}

// AccountName is the account's name in a file tree or with a user of its own.
const AccountName = "runner"

// Account is the program's account; empty for the server's user.
func (w Walls) Account() string {
	if w.Alone() || w.Users {
		return AccountName
	}
	return ""
}

// Command calls a program in the cell, in a session of its own.
func (w Walls) Command(ctx context.Context, c Cell, program string, args ...string) *exec.Cmd {
	required := w.required()
	return w.command(ctx, c, append(append(required, "--", program), args...)...)
}

func (w Walls) command(ctx context.Context, c Cell, rest ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.Sandbox, append(w.args(c), rest...)...)
	cmd.Dir, cmd.Env = c.Dir, startEnvironment(c.Environment)
	cmd.SysProcAttr = w.attributes(c)
	return cmd
}

// startEnvironment is the sandbox's environment. On one processor this Go program costs a third
// less; it restores the program's own value.
func startEnvironment(env []string) []string {
	const processors = "GOMAXPROCS="
	start, own := make([]string, 0, len(env)+2), ""
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, processors); ok {
			own = value
			continue
		}
		start = append(start, e)
	}
	return append(start, processors+"1", "YUBA_PROGRAM_"+processors+own)
}

// Line is a command line that a shell can use in place of a program.
func (w Walls) Line(c Cell, program string, args ...string) []string {
	line := []string{w.Sandbox}
	if w.Alone() {
		line = append(line, "-spawn", string(w.Namespaces))
	}
	if c.Relay != nil {
		for _, word := range w.Line(w.relayCell(c), w.relay(), c.Relay.arguments()...) {
			line = append(line, "-relay", word)
		}
	}
	return append(append(append(append(line, w.args(c)...), w.required()...), "--", program), args...)
}

// required makes sure that a program starts no less confined than Probe reported.
func (w Walls) required() []string {
	if w.Landlock > 0 && w.Filter {
		return []string{"-require"}
	}
	return nil
}

// attributes are the kernel's tasks when the sandbox starts.
func (w Walls) attributes(c Cell) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !w.Alone() {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if c.NoNetwork {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if w.Namespaces != WithUser {
		return attr
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if c.NoNetwork {
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE)
	}
	if w.Users {
		own := []syscall.SysProcIDMap{{ContainerID: c.User, HostID: c.User, Size: 1}}
		attr.UidMappings, attr.GidMappings, attr.GidMappingsEnableSetgroups = own, own, true
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SETUID, unix.CAP_SETGID)
		return attr
	}
	// The sandbox maps its user itself, so this process need not be copied for it, which would cost
	// more than the whole sandbox.
	attr.Cloneflags |= unix.CLONE_VM | unix.CLONE_VFORK
	return attr
}

// args are the sandbox's, without the program.
func (w Walls) args(c Cell) []string {
	var args []string
	add := func(flag string, values ...string) {
		for _, value := range values {
			args = append(args, flag, value)
		}
	}
	if w.Alone() {
		args = append(args, "-root")
		if c.Home != "" {
			args = append(args, "-at", c.Home, HomePath)
		}
		if c.Temp != "" {
			args = append(args, "-at", c.Temp, TempPath)
		}
		if c.NoNetwork {
			args = append(args, "-loopback")
		}
		args = append(args, c.Relay.args()...)
	} else {
		for _, dir := range []string{c.Home, c.Temp} {
			if dir != "" {
				add("-rw", dir)
			}
		}
	}
	switch {
	case w.Users:
		add("-user", strconv.Itoa(c.User))
		if w.Namespaces == WithUser {
			args = append(args, "-mapped")
		}
		if !w.Alone() {
			add("-group", strconv.Itoa(PassingGroup))
		}
	case w.Namespaces == WithUser:
		add("-map", strconv.Itoa(os.Geteuid())+":"+strconv.Itoa(os.Getegid()))
	}
	add("-rw", c.Writable...)
	add("-rx", c.Executable...)
	add("-ro", c.Readable...)
	for _, port := range c.Listen {
		add("-listen", strconv.Itoa(int(port)))
	}
	args = append(args, c.Limits.args()...)
	if c.Mark != 0 {
		add("-mark", strconv.FormatUint(c.Mark, 10))
	}
	if c.Background {
		args = append(args, "-background")
	}
	return args
}

func (l Limits) args() []string {
	var args []string
	for _, limit := range []struct {
		name string
		most uint64
	}{{"nproc", l.Processes}, {"nofile", l.Files}, {"fsize", l.FileBytes}, {"data", l.DataBytes}} {
		if limit.most > 0 {
			args = append(args, "-limit", limit.name+"="+strconv.FormatUint(limit.most, 10))
		}
	}
	return args
}
