// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// growthSlack allows for noise: the cost may grow this much faster than the fleet.
const growthSlack = 1.15

// measureGrowth deploys fleets of several sizes in turn and reports whether any number grows faster
// than they do. It uses resources built into tofu, with which Yuba's own share is largest.
func (f *fleet) measureGrowth(ctx context.Context) error {
	if !f.names[rowGrowth] {
		return nil
	}
	points := map[string][]float64{}
	for _, size := range f.growth {
		g := &fleet{bench: f.bench, executions: f.executions, name: fmt.Sprintf("growth-%d", size), what: f.what, size: size, workers: f.workers, content: f.content, mirror: f.mirror}
		results := len(f.results)
		if err := g.grow(ctx); err != nil {
			return fmt.Errorf("a fleet of %d: %w", size, err)
		}
		for _, r := range f.results[results:] {
			what := strings.TrimPrefix(r.Name, g.name+"-")
			points[what] = append(points[what], r.Value)
		}
	}
	f.addGrowth(points)
	return nil
}

// grow deploys a fleet and measures everything that may depend on its size.
func (f *fleet) grow(ctx context.Context) (err error) {
	t, err := f.newTrial(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	for _, step := range []func(context.Context) error{t.deploy, t.look, t.noteMemory, t.keepQuiet, t.measureProven, t.measureStart} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	const mb = 1e6
	apply, look := f.apply.yuba[0], f.refresh.yuba[0]
	add := func(name, what, unit string, value float64) {
		f.results = append(f.results, result{Name: f.name + "-" + name, What: fmt.Sprintf("%d stacks: %s", f.size, what), Unit: unit, Value: value, Trials: 1})
	}
	add("apply-wall", "first apply", "s", apply.took.Seconds())
	add("apply-cpu", "first apply, CPU", "s", apply.cpu.Seconds())
	add("refresh-wall", "drift check", "s", look.took.Seconds())
	add("refresh-cpu", "drift check, CPU", "s", look.cpu.Seconds())
	add("memory-idle", "idle memory", "MB", f.memory.idle[0]/mb)
	add("memory-busy", "peak memory", "MB", f.memory.busy[0]/mb)
	return nil
}

// addGrowth adds, for each number, its worst growth from one size to the next, relative to the
// growth in size.
func (f *fleet) addGrowth(points map[string][]float64) {
	for _, what := range []string{"apply-wall", "apply-cpu", "refresh-wall", "refresh-cpu", "proven", "untouched", "start", "memory-idle", "memory-busy"} {
		worst, at := worstGrowth(f.growth, points[what])
		if at == 0 {
			continue
		}
		verdict := "not faster than linear"
		if worst > growthSlack {
			verdict = "FASTER THAN LINEAR"
		}
		f.results = append(f.results, result{Name: "fleet-growth-" + what, Unit: "x", Value: worst, Trials: len(f.growth),
			What: fmt.Sprintf("worst growth of %s, from %d to %d stacks, relative to the growth in stacks: %s", what, f.growth[at-1], f.growth[at], verdict)})
	}
}

// worstGrowth is the largest growth of a value between two consecutive sizes, relative to the
// growth in size, and the index of the second size. Below one, the value grew slower. It skips
// steps from zero.
func worstGrowth(sizes []int, values []float64) (worst float64, at int) {
	for i := 1; i < min(len(sizes), len(values)); i++ {
		if values[i-1] <= 0 {
			continue
		}
		factor := values[i] / values[i-1] * float64(sizes[i-1]) / float64(sizes[i])
		if at == 0 || factor > worst {
			worst, at = factor, i
		}
	}
	return worst, at
}
