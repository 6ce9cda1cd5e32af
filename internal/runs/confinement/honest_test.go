// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// what an honest program does.
var honest = []attempt{
	{"write its own file", never, func(victim) error { return os.WriteFile("honest", []byte("x"), 0o600) }},
	{"change the mode and times of its own file", never, func(victim) error {
		return errors.Join(os.Chmod("honest", 0o755), os.Chtimes("honest", time.Unix(1, 0), time.Unix(1, 0)))
	}},
	{"set an attribute of its own file", never, func(victim) error { return unix.Setxattr("honest", "user.x", []byte("x"), 0) }},
	{"start its own program", never, func(victim) error {
		return errors.Join(os.WriteFile("script", []byte("#!/bin/sh\nexit 0\n"), 0o755), exec.Command("./script").Run())
	}},
	{"start a program of the system", never, func(victim) error { return exec.Command("/bin/sh", "-c", "true | cat").Run() }},
	{"make directories, links and pipes", never, func(victim) error {
		return errors.Join(os.Mkdir("d", 0o755), os.Symlink("d", "l"), unix.Mkfifo("p", 0o600), os.Rename("d", "e"), os.RemoveAll("e"))
	}},
	{"link and move its own files between directories", never, func(victim) error {
		return errors.Join(os.Mkdir("f", 0o755), os.Link("honest", "f/linked"), os.Rename("f/linked", "moved"))
	}},
	{"use its home", never, func(victim) error { return os.WriteFile(os.Getenv("HOME")+"/.config", nil, 0o600) }},
	{"listen on a socket with a path", never, func(victim) error {
		listener, err := net.Listen("unix", os.Getenv("TMPDIR")+"/s")
		if err != nil {
			return err
		}
		return ok(net.Dial("unix", listener.Addr().String()))
	}},
	{"listen on a port", never, func(victim) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return ok(net.Dial("tcp", listener.Addr().String()))
	}},
	{"connect to somebody", never, func(v victim) error { return ok(net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", v.Port))) }},
	{"ask for the network's addresses", never, func(victim) error { return ok(net.InterfaceAddrs()) }},
	{"ask what file it was started from", never, func(victim) error { return ok(os.Executable()) }},
	{"become what it is", never, func(victim) error {
		return errors.Join(call(unix.SYS_SETUID, uintptr(unix.Getuid())), call(unix.SYS_SETRESGID, uintptr(unix.Getgid()), ^uintptr(0), ^uintptr(0)))
	}},
	{"have threads and choose their processor", never, func(victim) error {
		var set unix.CPUSet
		return errors.Join(unix.SchedGetaffinity(0, &set), unix.SchedSetaffinity(0, &set))
	}},
	{"lower its own priority", never, func(victim) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }},
	{"lower its own limits", never, func(victim) error {
		return unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: 8 << 20, Max: 64 << 20})
	}},
	{"watch its own directory", never, func(victim) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		return ok(unix.InotifyAddWatch(fd, ".", unix.IN_ALL_EVENTS))
	}},
	{"name its standard files", never, func(victim) error {
		return exec.Command("/bin/bash", "-c", "set -e; test \"$(echo x | cat /dev/stdin)\" = x; echo x | cat >/dev/stdout; cat <(echo x); cat /dev/fd/3 3< <(echo x)").Run()
	}},
	{"write to the null device", never, func(victim) error { return os.WriteFile("/dev/null", []byte("x"), 0) }},
	{"get random bytes", never, func(victim) error { return ok(os.Open("/dev/urandom")) }},
	{"confine a program of its own further", never, func(victim) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	{"end a process of its own", never, func(victim) error {
		cmd := exec.Command("/bin/sleep", "100")
		if err := cmd.Start(); err != nil {
			return err
		}
		return errors.Join(cmd.Process.Kill(), ignoreKilled(cmd.Wait()))
	}},
}

func ignoreKilled(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
