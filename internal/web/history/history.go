// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package history remembers the load of the server for a day: a sample each minute, in memory. It is
// empty after a restart, and its size is fixed: it replaces no monitoring, and exists for those who have
// none.
package history

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

const (
	// Every is the time between two samples, and Kept the number of samples that are remembered.
	Every = time.Minute
	Kept  = 24 * 60
)

// Sample is the load at a time.
type Sample struct {
	At time.Time
	// Working, Waiting and Places count runs, Ended and Failed those of the minute before.
	Working, Waiting, Places int
	Ended, Failed            int
	// Skipped counts the reconciliations of that minute that needed no run.
	Skipped int
	// Memory is that of the server and the runner, in bytes, CPU the share of one core that they used.
	Memory, RunnerMemory int64
	CPU, RunnerCPU       float64
}

// History remembers samples.
type History struct {
	read func(context.Context) (content.Figures, error)
	log  *slog.Logger

	mu      sync.Mutex
	samples []Sample
	// first is the index of the oldest sample once all places are taken.
	first int
	last  content.Figures
}

// New returns an empty history of the figures that read returns.
func New(read func(context.Context) (content.Figures, error), log *slog.Logger) *History {
	return &History{read: read, log: log}
}

// Start takes samples until ctx ends.
func (h *History) Start(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		h.sample(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *History) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Every/2)
	defer cancel()
	figures, err := h.read(ctx)
	if err != nil {
		// The page shows a gap. An API that is away is told elsewhere.
		h.log.Debug("the figures of a minute are missing", "error", err)
		return
	}
	h.Add(figures)
}

// Add adds the figures of a moment.
func (h *History) Add(f content.Figures) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := sampleOf(h.last, f)
	h.last = f
	if len(h.samples) < Kept {
		h.samples = append(h.samples, s)
		return
	}
	h.samples[h.first] = s
	h.first = (h.first + 1) % Kept
}

// Samples returns what is remembered, oldest first.
func (h *History) Samples() []Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Sample, 0, len(h.samples))
	all = append(all, h.samples[h.first:]...)
	return append(all, h.samples[:h.first]...)
}

// sampleOf makes a sample of figures. Counters since the server's start count from the figures before,
// if those are of the same start.
func sampleOf(before, f content.Figures) Sample {
	s := Sample{At: f.At, Working: f.AtWork, Waiting: f.Waiting + f.Prepared, Places: f.Places, Ended: f.LastMinute, Failed: f.FailedLastMinute, Memory: f.Server.MemoryBytes}
	passed := f.At.Sub(before.At).Seconds()
	same := before.Started.Equal(f.Started) && passed > 0
	if same {
		s.Skipped = max(0, f.Skipped-before.Skipped)
		s.CPU = max(0, (time.Duration(f.Server.CPU)-time.Duration(before.Server.CPU)).Seconds()/passed)
	}
	if f.Runner == nil {
		return s
	}
	s.RunnerMemory = f.Runner.MemoryBytes
	if same && before.Runner != nil {
		used := time.Duration(f.Runner.CPU+f.Runner.ChildCPU) - time.Duration(before.Runner.CPU+before.Runner.ChildCPU)
		s.RunnerCPU = max(0, used.Seconds()/passed)
	}
	return s
}
