// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-sandbox confines a program and becomes it.
//
//	yuba-sandbox [-rw PATH]... [-ro PATH]... [-rx PATH]... [FLAG]... -- PROGRAM [ARG]...
//	yuba-sandbox -probe [FLAG]...
//
// The program, and everything it starts, can write below the -rw paths (and execute there, because
// tofu runs the providers it downloads), read below the -ro paths, read and execute below the -rx
// paths, and open nothing else. Paths that do not exist are left out. It gains no rights by
// executing set-uid files, makes no such files and no devices, dumps no core, inherits no files but
// the standard three, cannot type at a terminal, and lacks the system calls that refusals.go lists.
//
// There are two walls. Landlock, where the kernel has it, refuses to open unlisted paths. With
// -root they do not even exist: the program gets its own file tree, processes and shared memory.
// The caller must then start yuba-sandbox in new mount, process and IPC namespaces (see package
// confinement), so that it is the first of its processes and all others end with it.
//
// The flags:
//
//	-root                make a new root of the paths
//	-at SOURCE PATH      show the directory SOURCE, for writing, at PATH; needs -root
//	-map USER:GROUP      in a new user namespace: map this user, as outside
//	-user N              become this user, with a group of the same number
//	-mapped              in a new user namespace, by root: map only that user; needs -user and -root
//	-group N             keep this group, which grants access to directories on the way; needs -user
//	-loopback            in a new network namespace: enable the loopback interface
//	-tunnel              in a new network namespace: create a way out, and hand it to the relay on descriptor 3; needs -loopback and -root
//	-forward ADDR:PORT   also hand over a socket that listens at this loopback address; needs -tunnel
//	-relay WORD          a word of the relay's command line, for -tunnel with -spawn
//	-listen PORT         allow listening on this port; others are refused, unless the kernel chooses them
//	-limit NAME=N        set a limit of a process: nproc, nofile, fsize, data
//	-mark N              mark the processes of the run with this number
//	-background          lower the priority
//	-require             refuse to start the program without Landlock or the filter for system calls
//	-probe               do all of this and report the walls, instead of starting a program
//	-follow              end with the parent process
//	-spawn KIND          be the parent of a second yuba-sandbox in new namespaces, KIND "plain" or "user": for a person's shell
//
// If a flag cannot be honoured, the program does not start. Without Landlock, a line on standard
// error warns, unless -require is given.
//
// This is a program of its own, and small, because it starts before every tofu process.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

const (
	exitUsage     = 2
	exitNoWall    = 3
	exitNoProgram = 127
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-sandbox: "+err.Error())
	}
	os.Exit(code)
}

// run only returns if the program could not be started.
func run(args []string) (int, error) {
	o, err := parse(args)
	if err != nil {
		return exitUsage, err
	}
	if o.spawn != "" {
		return spawn(o, args)
	}
	runtime.LockOSThread() // restrictions belong to the thread, which becomes the program
	walls, err := o.build()
	if err != nil {
		return 1, err
	}
	missing := walls.missing()
	switch {
	case o.probe:
		walls.print(os.Stdout)
		return 0, nil
	case missing != nil && o.require:
		return exitNoWall, missing
	case missing != nil:
		fmt.Fprintln(os.Stderr, "yuba-sandbox: not confined: "+missing.Error())
	}
	if o.tunnel {
		if err := awaitRelay(); err != nil {
			return 1, err
		}
	}
	err = syscall.Exec(o.program[0], o.program, programEnvironment(os.Environ()))
	return exitNoProgram, fmt.Errorf("start %s: %w", o.program[0], err)
}

// build sets up the walls, in the only order that works: each removes rights that the earlier ones
// needed.
func (o *options) build() (walls, error) {
	w := walls{user: os.Getuid(), group: os.Getgid()}
	if o.background {
		giveWay()
	}
	if o.mapped {
		if err := mapUser(o.mapUser, o.mapGroup); err != nil {
			return w, err
		}
		w.user, w.group = o.mapUser, o.mapGroup
	}
	if o.user != 0 {
		w.user, w.group = o.user, o.user
	}
	if err := o.limit(); err != nil {
		return w, err
	}
	if o.loopback {
		if err := startLoopback(); err != nil {
			return w, err
		}
	}
	if err := o.startTunnel(); err != nil {
		return w, err
	}
	if o.root {
		if err := o.makeRoot(w.user); err != nil {
			return w, fmt.Errorf("make a root of its own: %w", err)
		}
	}
	err := harden()
	if err != nil {
		return w, err
	}
	if w.landlock, err = confine(*o); err != nil {
		return w, err
	}
	if o.user != 0 && !o.userMapped {
		if err := become(o.user, o.group); err != nil {
			return w, err
		}
	}
	if err := giveUpRights(); err != nil {
		return w, err
	}
	if o.follow { // only now: a change of user resets it
		if err := follow(); err != nil {
			return w, err
		}
	}
	w.filter, err = refuse(refusals(w.user, w.group, o.root))
	return w, err
}

// limit sets the resource limits of the program.
func (o *options) limit() error {
	goFirst()
	for _, l := range o.limits {
		if err := l.set(); err != nil {
			return err
		}
	}
	if o.mark != 0 {
		return setMark(o.mark)
	}
	return nil
}

// walls are the active walls.
type walls struct {
	landlock    int
	filter      bool
	user, group int
}

var (
	errNoLandlock = errors.New("this kernel has no Landlock (it needs Linux 5.13 or newer with landlock among its security modules)")
	errNoFilter   = errors.New("this kernel has no filter for system calls (it needs seccomp), or Yuba has none for this architecture")
)

func (w walls) missing() error {
	switch {
	case w.landlock == 0:
		return errNoLandlock
	case !w.filter:
		return errNoFilter
	}
	return nil
}

// print lists the walls, one a line, for package confinement.
func (w walls) print(to *os.File) {
	filter := 0
	if w.filter {
		filter = 1
	}
	fmt.Fprintf(to, "landlock %d\nfilter %d\n", w.landlock, filter) //nolint:errcheck // the reader has gone
}
