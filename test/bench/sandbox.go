// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"time"
)

// confined is how the runner confines tofu, with directories of this system in the place of a stack's.
func (b *bench) confined() []string {
	var args []string
	for flag, paths := range map[string][]string{
		"-rw": {b.scratch, "/dev/null", "/dev/full"},
		"-rx": {b.programs.tofu, "/usr", "/lib", "/lib64", "/bin", "/sbin"},
		"-ro": {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
			"/etc/passwd", "/etc/group", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone",
			"/etc/ld.so.cache", "/etc/alternatives", "/dev/zero", "/dev/random", "/dev/urandom"},
	} {
		for _, path := range paths {
			args = append(args, flag, path)
		}
	}
	return args
}

// measureSandbox measures what confinement adds to the CPU time of one process.
func (b *bench) measureSandbox(ctx context.Context) error {
	confined := append(b.confined(), "--", "/bin/true")
	var with, without []time.Duration
	for range 20 * b.trials {
		w, err := processCPU(ctx, b.programs.sandbox, confined...)
		if err != nil {
			return err
		}
		wo, err := processCPU(ctx, "/bin/true")
		if err != nil {
			return err
		}
		with, without = append(with, w), append(without, wo)
	}
	// The kernel may count such short processes in whole ticks: then only the mean says something.
	added := mean(with) - mean(without)
	b.results = append(b.results, result{Name: "sandbox-cpu", What: "CPU that confinement adds to a process", Unit: "ms",
		Value: float64(added.Microseconds()) / 1000, Trials: len(with)})
	return nil
}

func processCPU(ctx context.Context, path string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{}
	if err := cmd.Run(); err != nil {
		return 0, err
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
