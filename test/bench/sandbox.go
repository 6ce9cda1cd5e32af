// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
)

// cell is the confinement that the runner gives tofu, with directories of this system instead of a
// stack's.
func (b *bench) cell() (confinement.Cell, error) {
	c := confinement.Cell{
		Dir: b.scratch, Mark: confinement.Mark("bench"), Background: true,
		Writable:   []string{b.scratch, "/dev/null", "/dev/full"},
		Executable: []string{b.programs.tofu, "/usr", "/lib", "/lib64", "/bin", "/sbin"},
		Readable: []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
			"/etc/passwd", "/etc/group", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone",
			"/etc/ld.so.cache", "/etc/alternatives", "/dev/zero", "/dev/random", "/dev/urandom"},
	}
	for _, dir := range []*string{&c.Home, &c.Temp} {
		var err error
		if *dir, err = os.MkdirTemp(b.scratch, "cell-"); err != nil {
			return c, err
		}
	}
	var err error
	c.User, err = (&confinement.Users{File: filepath.Join(b.scratch, "users")}).Next()
	return c, err
}

// measureSandbox measures the CPU time that confinement adds to one process, with all walls that
// this machine supports, and the share of the sandbox's own start.
func (b *bench) measureSandbox(ctx context.Context) error {
	walls, err := confinement.Probe(ctx, b.programs.sandbox, b.scratch)
	if err != nil {
		return err
	}
	cell, err := b.cell()
	if err != nil {
		return err
	}
	const usage = 2 // the exit code of the sandbox without arguments: it starts, complains and exits
	var with, without, starts []time.Duration
	for range 20 * b.trials {
		for _, m := range []struct {
			cmd   *exec.Cmd
			code  int
			times *[]time.Duration
		}{
			{walls.Command(ctx, cell, "/bin/true"), 0, &with},
			{exec.CommandContext(ctx, "/bin/true"), 0, &without},
			{exec.CommandContext(ctx, b.programs.sandbox), usage, &starts},
		} {
			cpu, err := processCPU(m.cmd, m.code)
			if err != nil {
				return err
			}
			*m.times = append(*m.times, cpu)
		}
	}
	// The kernel may count such short processes in whole ticks, so only the mean is meaningful.
	row := func(name, what string, value time.Duration) {
		b.results = append(b.results, result{Name: name, What: what, Unit: "ms", Value: float64(value.Microseconds()) / 1000, Trials: len(with)})
	}
	row("sandbox-cpu", "CPU time that confinement adds to a process", mean(with)-mean(without))
	row("sandbox-start", "CPU time of a sandbox that exits at once", mean(starts))
	row("sandbox-scale", "CPU time of /bin/true without confinement", mean(without))
	return nil
}

// processCPU runs a program that has to exit with the code.
func processCPU(cmd *exec.Cmd, code int) (time.Duration, error) {
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		return 0, errors.Join(err, fmt.Errorf("%s has not exited with code %d", cmd.Path, code))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func mean(times []time.Duration) time.Duration {
	var total time.Duration
	for _, t := range times {
		total += t
	}
	return total / time.Duration(max(len(times), 1))
}
