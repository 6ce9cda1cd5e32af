// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-sandbox confines a program and becomes it.
//
//	yuba-sandbox [-rw PATH]... [-ro PATH]... [-rx PATH]... [-require] [-background] -- PROGRAM [ARG]...
//	yuba-sandbox -probe
//
// The program, and everything it starts, can write below the -rw paths (and execute there, because tofu runs the
// providers it downloads), read below the -ro paths, read and execute below the -rx paths, and open nothing else.
// Where the kernel can, it cannot signal processes outside either, nor connect to their Unix sockets: to abstract ones
// since Linux 6.12, to those elsewhere than below -rw and -ro since Landlock's version 9. Paths that do not exist are
// left out. It gains no privileges by executing set-uid files, dumps no core, inherits no files
// but the standard three, and cannot type at a terminal that is among them.
//
// A kernel without Landlock confines nothing: then a line on standard error says so and the program runs all the
// same, unless -require is given. With -background the program gives way to others that want the processor. -probe prints what the kernel can do: exit code 0 with Landlock, 3 without.
//
// This is a program of its own, and small, because it starts before every tofu process.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

const (
	exitUsage      = 2
	exitNoLandlock = 3
	exitNoProgram  = 127
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-sandbox: "+err.Error())
	}
	os.Exit(code)
}

// run only returns when the program could not be started.
func run(args []string) (int, error) {
	o, err := parse(args)
	if err != nil {
		return exitUsage, err
	}
	if o.probe {
		return probe()
	}
	if o.background {
		giveWay()
	}
	runtime.LockOSThread() // restrictions are a thread's own until it becomes the program
	if err := harden(); err != nil {
		return 1, err
	}
	switch err := confine(o); {
	case err == nil:
	case errors.Is(err, errNoLandlock) && !o.require:
		fmt.Fprintln(os.Stderr, "yuba-sandbox: not confined: "+err.Error())
	case errors.Is(err, errNoLandlock):
		return exitNoLandlock, err
	default:
		return 1, err
	}
	err = syscall.Exec(o.program[0], o.program, os.Environ())
	return exitNoProgram, fmt.Errorf("start %s: %w", o.program[0], err)
}

type options struct {
	rw, ro, rx     []string
	require, probe bool
	background     bool
	program        []string
}

// parse reads the command line; package flag would be the larger part of the binary.
func parse(args []string) (options, error) {
	var o options
	lists := map[string]*[]string{"-rw": &o.rw, "-ro": &o.ro, "-rx": &o.rx}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; arg {
		case "--":
			o.program = args[i+1:]
			i = len(args)
		case "-require":
			o.require = true
		case "-background":
			o.background = true
		case "-probe":
			o.probe = true
		default:
			list, ok := lists[arg]
			if !ok {
				return o, fmt.Errorf("unknown argument %q", arg)
			}
			if i++; i == len(args) {
				return o, fmt.Errorf("%s needs a path", arg)
			}
			*list = append(*list, args[i])
		}
	}
	if o.probe {
		return o, nil
	}
	if len(o.program) == 0 || !strings.HasPrefix(o.program[0], "/") {
		return o, errors.New("no absolute path of a program after --")
	}
	return o, nil
}
