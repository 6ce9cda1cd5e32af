// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
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
	// fleet is the number of stacks of a fleet, growth the sizes of the fleets for fleet-growth.
	fleet  int
	growth []int
	// consumers is the number of stacks that read a contract.
	consumers int
	// tenants is the number of rows in the table of tenants.
	tenants int
	// instances is the number of objects of application kinds.
	instances int
	// cloudLatency is the response time of the cloud that the test provider uses.
	cloudLatency time.Duration
	// names are the parts and rows to measure; if empty, all that are fast.
	names   map[string]bool
	results []result
}

// wants reports whether to measure one of a part's rows: because the part is selected, or the row.
func (b *bench) wants(rows ...string) bool {
	for _, row := range rows {
		part, _, _ := strings.Cut(row, "-")
		if b.names[row] || b.names[part] {
			return true
		}
	}
	return false
}

// part is a group of measurements.
type part struct {
	name    string
	measure func(*bench, context.Context) error
	// alone parts take long and are measured only on request.
	alone bool
}

var parts = []part{
	{name: "ready", measure: (*bench).measureReady},
	{name: "idle", measure: (*bench).measureIdle},
	{name: "stacks", measure: (*bench).measureStacks},
	{name: "inputs", measure: (*bench).measureInputs},
	{name: "sandbox", measure: (*bench).measureSandbox},
	{name: "fleet", measure: (*bench).measureFleet, alone: true},
	{name: "tenants", measure: (*bench).measureTenants, alone: true},
	{name: "applications", measure: (*bench).measureApplications, alone: true},
	{name: "policies", measure: (*bench).measurePolicies, alone: true},
	{name: "contracts", measure: (*bench).measureContracts, alone: true},
	{name: "web", measure: (*bench).measureWeb, alone: true},
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
	o, err := b.parse(flag.CommandLine, os.Args[1:])
	if err != nil {
		return err
	}
	if b.programs, err = findPrograms(o.programs); err != nil {
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
	// Print the results even if a later part failed: they may have taken hours.
	failed := b.measure(ctx)
	r := report{Machine: describeMachine(b.programs), Command: commandLine(os.Args[1:]), Results: judge(b.results, limits)}
	print := r.writeTable
	switch {
	case o.json:
		print = r.writeJSON
	case o.markdown:
		print = r.writeMarkdown
	}
	return errors.Join(print(os.Stdout), failed)
}

// measure measures all selected parts.
func (b *bench) measure(ctx context.Context) error {
	for _, p := range parts {
		if !b.chose(p) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", p.name)
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("measure %s: %w", p.name, err)
		}
	}
	return nil
}

// programs are the measured programs, as installed.
type programs struct{ yuba, runner, sandbox, tofu string }

func (p *programs) all() map[string]*string {
	return map[string]*string{"yuba": &p.yuba, "yuba-runner": &p.runner, "yuba-sandbox": &p.sandbox, "tofu": &p.tofu}
}

func findPrograms(directory string) (programs, error) {
	var p programs
	for name, path := range p.all() {
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
