// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what the command line says beside what a bench holds.
type options struct {
	programs       string
	json, markdown bool
}

// fleetRows are what a fleet is measured for, in the order of the report.
var fleetRows = []string{rowApply, rowRefresh, rowMemory, rowAPI, rowProven, rowInput, rowCommit, rowStart, rowDownload, rowGrowth}

// tenantRows are what tenants are measured for, in the order of the report.
var tenantRows = []string{rowTenantsCreate, rowTenantsMemory, rowTenantsQuiet, rowTenantsChange, rowTenantsRollout}

const usage = `usage: go run ./test/bench [flags]

Without -only everything is measured but fleets and tenants: about six minutes.

Fleets take, with 1000 stacks on two cores, roughly:
    -only fleet-apply,fleet-refresh      17 minutes for each of the three trials, and 5 more for terraform_data
    -only fleet-memory                   15 minutes, half of it for the larger states
    -only fleet-api                      10 minutes
    -only fleet-proven,fleet-input,fleet-commit,fleet-start
                                         15 minutes, most of it to deploy the fleet
    -only fleet-download                 4 minutes
    -only fleet-growth                   6 minutes with 100, 300 and 1000 stacks; 3000 take 10 more
    -only fleet                          all of these but the last, 80 minutes with -n 3, 35 minutes with -n 1
With fewer stacks it takes proportionally less: -fleet 100 is a matter of minutes.

Tenants of the rows of a table take about five minutes with -only tenants, half of it for tenants-rollout.

`

func (b *bench) parse(flags *flag.FlagSet, args []string) (options, error) {
	var o options
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	names = append(append(names, fleetRows...), tenantRows...)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	only := flags.String("only", "", "measure these only, separated by commas: "+strings.Join(names, ", "))
	flags.StringVar(&o.programs, "programs", "bin", "the directory of yuba, yuba-runner, yuba-sandbox and tofu")
	flags.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flags.BoolVar(&o.markdown, "markdown", false, "print the table as docs/benchmarks.md has it")
	flags.IntVar(&b.trials, "n", 15, "how often each comparison is made; of fleets three times at most")
	flags.IntVar(&b.fleet, "fleet", 100, "how many stacks a fleet has")
	sizes := flags.String("growth", "100,300,1000", "how many stacks the fleets have whose growth is looked at")
	flags.IntVar(&b.tenants, "tenants", 1000, "how many rows the table of tenants has")
	flags.DurationVar(&b.cloudLatency, "latency", 0, "how long the cloud takes to answer the test provider")
	flags.DurationVar(&b.settle, "settle", 20*time.Second, "how long to wait before looking at what an idle Yuba takes")
	flags.DurationVar(&b.idle, "idle", 30*time.Second, "how long to look")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if b.names, err = chosen(*only, names); err != nil {
		return o, err
	}
	if b.growth, err = numbers(*sizes); err != nil {
		return o, fmt.Errorf("read -growth %q: %w", *sizes, err)
	}
	if b.fleet < 1 || b.trials < 1 || b.tenants < 1 {
		return o, fmt.Errorf("read the flags: -fleet %d, -tenants %d and -n %d: want at least 1", b.fleet, b.tenants, b.trials)
	}
	return o, nil
}

// chosen are the parts and rows that -only names.
func chosen(only string, known []string) (map[string]bool, error) {
	names := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("read -only: there is no %q. There are %s", name, strings.Join(known, ", "))
		}
		names[name] = true
	}
	return names, nil
}

// numbers reads sizes, which must grow.
func numbers(list string) ([]int, error) {
	var out []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if n < 1 || len(out) > 0 && n <= out[len(out)-1] {
			return nil, fmt.Errorf("%d: want numbers of stacks, each more than the one before", n)
		}
		out = append(out, n)
	}
	return out, nil
}

// chose says whether a part is to be measured. One of its rows is enough.
func (b *bench) chose(p part) bool {
	if len(b.names) == 0 {
		return !p.alone
	}
	for name := range b.names {
		if name == p.name || strings.HasPrefix(name, p.name+"-") {
			return true
		}
	}
	return false
}
