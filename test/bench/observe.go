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

// observation is what a piece of work cost.
type observation struct {
	took time.Duration
	// cpu is that of the processes that did it; busy is that of the whole machine, what measures included: on a machine with
	// nothing else to do it is little more, and proves that nobody was forgotten.
	cpu, busy time.Duration
	processes processes
	// server and runner are what Yuba's own processes took of cpu; all else are those that they started.
	server, runner time.Duration
}

// spent is CPU time: all of it, and what of it a server and a runner took themselves.
type spent struct{ total, server, runner time.Duration }

// observe does something and says what it cost. cpu tells what those who do it have spent so far.
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

// busyTime is the time that all cores of the machine were busy since it started.
func busyTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(text)
}

// parseBusy adds up the first line of /proc/stat: user, nice, system, not idle and iowait, irq, softirq; what a
// hypervisor took and guests, which user contains, do not count.
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

// compared is the same work done by Yuba and by hand.
type compared struct{ yuba, byHand []observation }

func durations(observations []observation, of func(observation) time.Duration) []time.Duration {
	var out []time.Duration
	for _, o := range observations {
		out = append(out, of(o))
	}
	return out
}

// results are the ratios of the medians, and how many processes both took for each stack.
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
		What: fmt.Sprintf("CPU for each stack: tofu and its providers %.0f ms, server %.0f, runner %.0f; by hand %.0f", tofu, server, runner, each(c.byHand, total))}, {Name: name + "-processes", Unit: "processes", Trials: len(c.yuba), Value: yuba[0],
		What: fmt.Sprintf("processes of tofu for each stack: by hand %.2f; of the provider: %.2f, by hand %.2f", byHand[0], yuba[1], byHand[1])}}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// perStack is the median of the processes for each stack, of tofu and of the provider.
func perStack(observations []observation, stacks int) [2]float64 {
	var tofu, provider []float64
	for _, o := range observations {
		tofu = append(tofu, float64(o.processes.tofu)/float64(stacks))
		provider = append(provider, float64(o.processes.provider)/float64(stacks))
	}
	return [2]float64{quantile(tofu, 0.5), quantile(provider, 0.5)}
}
