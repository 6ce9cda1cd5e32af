// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// starts is the number of trials for each kind of start.
const starts = 5

// measureReady measures the time from exec to ready, with new and with used data directories.
func (b *bench) measureReady(ctx context.Context) error {
	var first, again []time.Duration
	for range starts {
		dir, err := os.MkdirTemp(b.scratch, "ready-")
		if err != nil {
			return err
		}
		for _, times := range []*[]time.Duration{&first, &again} {
			y, err := b.start(ctx, dir)
			if err != nil {
				return err
			}
			*times = append(*times, y.took)
			if err := y.stop(); err != nil {
				return err
			}
		}
	}
	b.add("ready-first", "exec to ready, new data directory", "s", first)
	b.add("ready-again", "exec to ready, used data directory", "s", again)
	return nil
}

func (b *bench) add(name, what, unit string, times []time.Duration) {
	ms := milliseconds(times)
	r := result{Name: name, What: what, Unit: unit, Value: quantile(ms, 0.5), Yuba: spreadOf(ms), Trials: len(ms)}
	if unit == "s" {
		r.Value /= 1000
	}
	b.results = append(b.results, r)
}

func (b *bench) directory(name string) string { return filepath.Join(b.scratch, name) }
