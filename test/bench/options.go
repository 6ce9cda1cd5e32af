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

// options are the flags that are not part of a bench.
type options struct {
	programs       string
	json, markdown bool
}

// fleetRows are the rows of fleets, in the order of the report.
var fleetRows = []string{rowApply, rowRefresh, rowMemory, rowAPI, rowProven, rowInput, rowCommit, rowStart, rowDownload, rowGrowth}

// tenantRows are the rows of tenants, in the order of the report.
var tenantRows = []string{rowTenantsCreate, rowTenantsMemory, rowTenantsQuiet, rowTenantsChange, rowTenantsRollout}

const usage = `usage: go run ./test/bench [flags]

Without -only, measure everything except fleets, tenants, applications, policies, contracts and the web page. This takes about six minutes.

Approximate times of fleets with 1000 stacks on two cores:
    -only fleet-apply,fleet-refresh      17 minutes for each of three trials, and 5 for terraform_data
    -only fleet-memory                   15 minutes, half of them for the larger states
    -only fleet-api                      10 minutes
    -only fleet-proven,fleet-input,fleet-commit,fleet-start
                                         15 minutes, most of them to deploy the fleet
    -only fleet-download                 4 minutes
    -only fleet-growth                   6 minutes with 100, 300 and 1000 stacks; 10 more with 3000
    -only fleet                          all of these except the last: 80 minutes with -n 3, 35 minutes with -n 1
Fewer stacks take proportionally less time: -fleet 100 takes a few minutes.

-only tenants takes about five minutes, half of them for tenants-rollout.

-only applications takes about five minutes.

-only web takes about four minutes, two of them to make the fleet.

-only policies takes half a minute, -only contracts about three minutes, most of them to deploy the consumers.

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
	only := flags.String("only", "", "measure only these, separated by commas: "+strings.Join(names, ", "))
	flags.StringVar(&o.programs, "programs", "bin", "the directory of yuba, yuba-runner, yuba-sandbox and tofu")
	flags.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flags.BoolVar(&o.markdown, "markdown", false, "print the table in the format of docs/benchmarks.md")
	flags.IntVar(&b.trials, "n", 15, "number of trials of each comparison; for fleets at most three")
	flags.IntVar(&b.fleet, "fleet", 100, "number of stacks of a fleet")
	sizes := flags.String("growth", "100,300,1000", "numbers of stacks of the fleets for fleet-growth")
	flags.IntVar(&b.tenants, "tenants", 1000, "number of rows in the table of tenants")
	flags.IntVar(&b.instances, "instances", 1000, "number of instances of application kinds")
	flags.IntVar(&b.consumers, "consumers", 500, "number of stacks that read a contract, at least 5")
	flags.DurationVar(&b.cloudLatency, "latency", 0, "response time of the cloud that the test provider uses")
	flags.DurationVar(&b.settle, "settle", 20*time.Second, "how long to wait before measuring an idle Yuba")
	flags.DurationVar(&b.idle, "idle", 30*time.Second, "how long to measure an idle Yuba")
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
	if b.fleet < 1 || b.trials < 1 || b.tenants < 1 || b.instances < 1 || b.consumers < concerned {
		return o, fmt.Errorf("read the flags: -fleet %d, -tenants %d, -instances %d and -n %d: want at least 1; -consumers %d: at least %d", b.fleet, b.tenants, b.instances, b.trials, b.consumers, concerned)
	}
	return o, nil
}

// chosen parses the parts and rows in -only.
func chosen(only string, known []string) (map[string]bool, error) {
	names := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("read -only: unknown name %q. Known names: %s", name, strings.Join(known, ", "))
		}
		names[name] = true
	}
	return names, nil
}

// numbers parses increasing sizes.
func numbers(list string) ([]int, error) {
	var out []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if n < 1 || len(out) > 0 && n <= out[len(out)-1] {
			return nil, fmt.Errorf("%d: want increasing numbers of stacks", n)
		}
		out = append(out, n)
	}
	return out, nil
}

// chose reports whether to measure a part. One selected row is enough.
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
