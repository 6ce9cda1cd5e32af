// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// bench is one run of the benchmark.
type bench struct {
	programs programs
	scratch  string
	trials   int
	idle     time.Duration
	settle   time.Duration
	sizes    []int
	// fleet is how many stacks a fleet has.
	fleet   int
	results []result
}

// part is a group of measurements.
type part struct {
	name    string
	measure func(*bench, context.Context) error
	// alone parts take long, and are measured when they are asked for.
	alone bool
}

var parts = []part{
	{name: "ready", measure: (*bench).measureReady},
	{name: "idle", measure: (*bench).measureIdle},
	{name: "stacks", measure: (*bench).measureStacks},
	{name: "inputs", measure: (*bench).measureInputs},
	{name: "sandbox", measure: (*bench).measureSandbox},
	{name: "fleet", measure: (*bench).measureFleet, alone: true},
	{name: "kustomization", measure: (*bench).measureKustomization},
	{name: "sources", measure: (*bench).measureSources},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is the main that turns an error into an exit code
	}
}

func run(ctx context.Context) error {
	b := &bench{sizes: []int{1, 10, 100}}
	only := flag.String("only", "", "measure one part only: ready, idle, stacks, inputs, sandbox, fleet, kustomization or sources")
	asJSON := flag.Bool("json", false, "print JSON instead of a table")
	directory := flag.String("programs", "bin", "the directory of yuba, yuba-runner, yuba-sandbox and tofu")
	flag.IntVar(&b.trials, "n", 15, "how often each comparison is made")
	flag.IntVar(&b.fleet, "fleet", 100, "how many stacks a fleet has")
	flag.DurationVar(&b.settle, "settle", 20*time.Second, "how long to wait before looking at what an idle Yuba takes")
	flag.DurationVar(&b.idle, "idle", 30*time.Second, "how long to look")
	flag.Parse()
	var err error
	if b.programs, err = findPrograms(*directory); err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp("", "yuba-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch) //nolint:errcheck // a temporary directory
	limits, err := readLimits()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if *only != p.name && (*only != "" || p.alone) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", p.name)
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("measure %s: %w", p.name, err)
		}
	}
	r := report{Machine: describeMachine(b.programs), Results: judge(b.results, limits)}
	if *asJSON {
		return r.writeJSON(os.Stdout)
	}
	return r.writeTable(os.Stdout)
}

// programs are what is measured, as they are installed.
type programs struct{ yuba, sandbox, tofu string }

func findPrograms(directory string) (programs, error) {
	var p programs
	for name, path := range map[string]*string{"yuba": &p.yuba, "yuba-sandbox": &p.sandbox, "tofu": &p.tofu} {
		absolute, err := filepath.Abs(filepath.Join(directory, name))
		if err != nil {
			return p, err
		}
		if _, err := os.Stat(absolute); err != nil {
			return p, fmt.Errorf("find %s: %w. Build it:\n    make build tofu", name, err)
		}
		*path = absolute
	}
	return p, nil
}
