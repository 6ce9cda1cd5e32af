// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// observation is the cost of some work.
type observation struct {
	took time.Duration
	// cpu is the CPU time of the processes that did the work, busy that of the whole machine,
	// including the benchmark. On an otherwise idle machine they are close, which proves that no
	// process was missed.
	cpu, busy time.Duration
	processes processes
	// server and runner are the own parts of Yuba's processes in cpu; the rest is their children's.
	server, runner time.Duration
}

// spent is the total CPU time, and the parts that a server and a runner used themselves.
type spent struct{ total, server, runner time.Duration }

// observe runs do and returns its cost. cpu returns the CPU time used so far.
func (f *fleet) observe(cpu func() (spent, error), do func() error) (observation, error) {
	var o observation
	counts, err := f.executions.counts()
	if err != nil {
		return o, err
	}
	before, err := cpu()
	if err != nil {
		return o, err
	}
	busy, err := busyTime()
	if err != nil {
		return o, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return o, err
	}
	o.took = time.Since(began)
	busyAfter, err := busyTime()
	if err != nil {
		return o, err
	}
	after, err := cpu()
	if err != nil {
		return o, err
	}
	o.cpu, o.busy = after.total-before.total, busyAfter-busy
	o.server, o.runner = after.server-before.server, after.runner-before.runner
	countsAfter, err := f.executions.counts()
	o.processes = started(counts, countsAfter)
	return o, err
}

// busyTime is the time that all cores of the machine have been busy since it started.
func busyTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(text)
}

// parseBusy adds fields of the first line of /proc/stat: user, nice, system, irq and softirq; not
// idle, iowait, steal, and guests, which user includes.
func parseBusy(text []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("read /proc/stat: its first line is %q", line)
	}
	var total time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/stat: %w", err)
		}
		total += time.Duration(n) * clockTick
	}
	return total, nil
}

// compared is the same work done by Yuba and by plain tofu.
type compared struct{ yuba, byHand []observation }

func durations(observations []observation, of func(observation) time.Duration) []time.Duration {
	var out []time.Duration
	for _, o := range observations {
		out = append(out, of(o))
	}
	return out
}

// results are the ratios of the medians, and the CPU time and processes per stack.
func (c *compared) results(name, what string, stacks int) []result {
	wall := func(o observation) time.Duration { return o.took }
	r := result{Name: name, What: what, Unit: "x", Trials: len(c.yuba),
		Yuba: spreadOf(milliseconds(durations(c.yuba, wall))), ByHand: spreadOf(milliseconds(durations(c.byHand, wall)))}
	r.Value = ratio(r.Yuba.Median, r.ByHand.Median)
	median := func(of func(observation) time.Duration) float64 {
		return ratio(quantile(milliseconds(durations(c.yuba, of)), 0.5), quantile(milliseconds(durations(c.byHand, of)), 0.5))
	}
	r.CPURatio, r.MachineRatio = median(func(o observation) time.Duration { return o.cpu }), median(func(o observation) time.Duration { return o.busy })
	each := func(observations []observation, of func(observation) time.Duration) float64 {
		return quantile(milliseconds(durations(observations, of)), 0.5) / float64(stacks)
	}
	total := func(o observation) time.Duration { return o.cpu }
	server := each(c.yuba, func(o observation) time.Duration { return o.server })
	runner := each(c.yuba, func(o observation) time.Duration { return o.runner })
	tofu := each(c.yuba, func(o observation) time.Duration { return o.cpu - o.server - o.runner })
	yuba, byHand := perStack(c.yuba, stacks), perStack(c.byHand, stacks)
	return []result{r, {Name: name + "-cpu", Unit: "ms", Trials: len(c.yuba), Value: each(c.yuba, total),
		What: fmt.Sprintf("CPU per stack: tofu and its providers %.0f ms, server %.0f, runner %.0f; plain tofu %.0f", tofu, server, runner, each(c.byHand, total))}, {Name: name + "-processes", Unit: "processes", Trials: len(c.yuba), Value: yuba[0],
		What: fmt.Sprintf("tofu processes per stack: plain tofu %.2f; provider processes: %.2f, plain tofu %.2f", byHand[0], yuba[1], byHand[1])}}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// perStack is the median number of processes per stack, of tofu and of the provider.
func perStack(observations []observation, stacks int) [2]float64 {
	var tofu, provider []float64
	for _, o := range observations {
		tofu = append(tofu, float64(o.processes.tofu)/float64(stacks))
		provider = append(provider, float64(o.processes.provider)/float64(stacks))
	}
	return [2]float64{quantile(tofu, 0.5), quantile(provider, 0.5)}
}
