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

// Cell is what a program gets. Its paths are absolute.
type Cell struct {
	// User is the program's own, from [Users]; it counts where the walls have users.
	User int
	// Environment is the program's, as in exec.Cmd.
	Environment []string
	// Dir is the working directory. It is below one of the paths.
	Dir string
	// Writable, Executable and Readable are the files and directories that the program can use so;
	// what is writable it can execute, too. Those that do not exist are left out.
	Writable, Executable, Readable []string
	// Home and Temp are the program's own, for writing. In a file tree of its own they are at
	// HomePath and TempPath.
	Home, Temp string
	// NoNetwork gives it nothing but a loopback interface, where it has namespaces of its own.
	NoNetwork bool
	// Listen are the ports that it may listen on, beside those that the kernel chooses.
	Listen []uint16
	// Limits are what it may take.
	Limits Limits
	// Mark is the run's.
	Mark uint64
	// Background has it give way to other processes.
	Background bool
}

// Limits are those of each process; zero is none.
type Limits struct {
	// Processes counts processes and threads: those of the program's user, in its user namespace.
	Processes uint64
	// Files are open files and connections.
	Files uint64
	// FileBytes is the size of one file, DataBytes the memory of one process.
	FileBytes, DataBytes uint64
}

// Where a program with a file tree of its own has its home and its temporary files.
// tofu-controller's runners have the same, and programs name them.
const (
	HomePath = "/home/runner"
	TempPath = "/tmp"
)

// HomeOf and TempOf are the paths that a program is to be told of.
func (w Walls) HomeOf(c Cell) string {
	if w.Alone() {
		return HomePath
	}
	return c.Home
}

// TempOf see HomeOf.
func (w Walls) TempOf(c Cell) string {
	if w.Alone() {
		return TempPath
	}
	return c.Temp
}

// AccountName is how programs that have a user of their own, or a file tree, find themselves named.
const AccountName = "runner"

// Account is the name of the account that a program finds itself running as; empty for that of the
// server's user.
func (w Walls) Account() string {
	if w.Alone() || w.Users {
		return AccountName
	}
	return ""
}

// Command is a call of a program in the cell, in a session of its own, with the cell's environment.
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

// startEnvironment is what the sandbox is started with for a program with an environment. On one
// processor the sandbox, which is a Go program, costs a third less; it gives the program back what
// that had said.
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

// Line is a command line that a shell can start in the place of a program, by which the program
// gets the cell.
func (w Walls) Line(c Cell, program string) []string {
	line := []string{w.Sandbox}
	if w.Alone() {
		line = append(line, "-spawn", string(w.Namespaces))
	}
	return append(append(append(line, w.args(c)...), w.required()...), "--", program)
}

// required makes sure that a program starts no less confined than was found possible.
func (w Walls) required() []string {
	if w.Landlock > 0 && w.Filter {
		return []string{"-require"}
	}
	return nil
}

// attributes are what the kernel has to be asked for when the sandbox is started.
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
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_NET_ADMIN)
	}
	if w.Users {
		own := []syscall.SysProcIDMap{{ContainerID: c.User, HostID: c.User, Size: 1}}
		attr.UidMappings, attr.GidMappings, attr.GidMappingsEnableSetgroups = own, own, true
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SETUID, unix.CAP_SETGID)
		return attr
	}
	// The sandbox says itself who its user is, so that nobody has to wait for this process: it need
	// not be copied to start another, which costs more than all of the sandbox.
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
