// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

func TestADayIsKept(t *testing.T) {
	h := New(nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	for i := range Kept + 10 {
		h.Add(content.Figures{At: start.Add(time.Duration(i) * Every), Started: start, AtWork: i})
	}
	all := h.Samples()
	if len(all) != Kept || all[0].Working != 10 || all[Kept-1].Working != Kept+9 {
		t.Errorf("%d samples, from %d to %d", len(all), all[0].Working, all[len(all)-1].Working)
	}
}

func TestSample(t *testing.T) {
	before := content.Figures{At: start, Started: start, Skipped: 5, Server: run.Usage{CPU: run.Duration(time.Second)}, Runner: &run.Usage{CPU: run.Duration(time.Second)}}
	now := content.Figures{At: start.Add(time.Minute), Started: start, Skipped: 8, Prepared: 1, Waiting: 2, Server: run.Usage{CPU: run.Duration(7 * time.Second), MemoryBytes: 9},
		Runner: &run.Usage{CPU: run.Duration(time.Second), ChildCPU: run.Duration(30 * time.Second)}}
	if s := sampleOf(before, now); s.Skipped != 3 || s.CPU != 0.1 || s.RunnerCPU != 0.5 || s.Waiting != 3 || s.Memory != 9 {
		t.Errorf("%+v", s)
	}
	now.Started = start.Add(time.Second)
	if s := sampleOf(before, now); s.Skipped != 0 || s.CPU != 0 || s.RunnerCPU != 0 {
		t.Errorf("a restart counts: %+v", s)
	}
}
