// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// growthSlack is what may be noise: so much more than in proportion to its size may a fleet cost.
const growthSlack = 1.15

// measureGrowth makes fleets of several sizes, one after the other, and says whether anything grows faster than they do. It is
// called for resources that are built into tofu: beside those what Yuba takes weighs most.
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

// grow makes a fleet and measures what may depend on its size.
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
	add("refresh-wall", "look for drift", "s", look.took.Seconds())
	add("refresh-cpu", "look for drift, CPU", "s", look.cpu.Seconds())
	add("memory-idle", "memory at rest", "MB", f.memory.idle[0]/mb)
	add("memory-busy", "most memory", "MB", f.memory.busy[0]/mb)
	return nil
}

// addGrowth says of each number how it grew, at its worst from one size to the next, compared with the size.
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
			What: fmt.Sprintf("growth of %s, at its worst from %d to %d stacks, in proportion: %s", what, f.growth[at-1], f.growth[at], verdict)})
	}
}

// worstGrowth is the largest factor between two sizes that follow each other by which a number grew more than the size
// did, and the index of the second. Below one, the number grew slower. Nothing grows from nothing: such steps are left out.
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
