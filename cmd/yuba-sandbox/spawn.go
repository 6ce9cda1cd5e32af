// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A person's shell cannot create namespaces for the confined program. So with -spawn this process
// starts itself a second time in new ones. It forwards the signals of the shell and the terminal,
// and exits with the program's exit code.

// Kinds of namespaces: with or without a user namespace.
const (
	kindPlain = "plain"
	kindUser  = "user"
)

// spawn starts this program again, in new namespaces, and waits for it.
func spawn(o options, args []string) (int, error) {
	attr := &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Env: os.Environ(), Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC}}
	switch o.spawn {
	case kindPlain:
	case kindUser:
		attr.Sys.Cloneflags |= unix.CLONE_NEWUSER
		attr.Sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID}
		if o.userMapped {
			own := []syscall.SysProcIDMap{{ContainerID: o.user, HostID: o.user, Size: 1}}
			attr.Sys.UidMappings, attr.Sys.GidMappings, attr.Sys.GidMappingsEnableSetgroups = own, own, true
		}
	default:
		return exitUsage, fmt.Errorf("-spawn %q: want %s or %s", o.spawn, kindPlain, kindUser)
	}
	if o.loopback {
		attr.Sys.Cloneflags |= unix.CLONE_NEWNET
		if o.spawn == kindUser {
			attr.Sys.AmbientCaps = append(attr.Sys.AmbientCaps, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE)
		}
	}
	if o.tunnel {
		relay, err := startRelay(o.relay)
		if err != nil {
			return 1, err
		}
		attr.Files = append(attr.Files, uintptr(relay)) //nolint:gosec // descriptors are not negative
		defer unix.Close(relay)                         //nolint:errcheck // it has no content
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGTSTP)
	child, err := syscall.ForkExec("/proc/self/exe", append([]string{os.Args[0], "-follow"}, withoutSpawn(args)...), attr)
	if err != nil {
		return 1, fmt.Errorf("start in new namespaces: %w", err)
	}
	go pass(signals, child)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(child, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1, fmt.Errorf("wait for the program: %w", err)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		default:
			return status.ExitStatus(), nil
		}
	}
}

// pass forwards signals to the program. SIGINT and SIGQUIT are not forwarded: Ctrl-C reaches the
// whole process group, and tofu takes a second SIGINT as an order to stop at once. The kernel
// ignores SIGTSTP for the first process of a namespace, so Ctrl-Z becomes SIGSTOP.
func pass(signals <-chan os.Signal, child int) {
	for s := range signals {
		switch s {
		case unix.SIGTERM, unix.SIGHUP:
			_ = unix.Kill(child, s.(syscall.Signal)) //nolint:errcheck,forcetypeassert // it has ended; signals are numbers here
		case unix.SIGTSTP:
			_ = unix.Kill(child, unix.SIGSTOP)
			_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // until the shell resumes this process
			_ = unix.Kill(child, unix.SIGCONT)
		}
	}
}

// follow makes the kernel kill the program when its parent ends.
func follow() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the process that started this one: %w", err)
	}
	return nil
}

func withoutSpawn(args []string) []string {
	var rest []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(rest, args[i:]...)
		}
		if args[i] == "-spawn" || args[i] == "-relay" {
			i++
			continue
		}
		rest = append(rest, args[i])
	}
	return rest
}
