// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// heardLog is the content of a run's log about its apply.
type heardLog struct {
	stream plan.Stream
	// toldPlan is true when the log has the whole plan: its summary, or something later.
	toldPlan bool
}

// maxHeard is the longest line of a log that is parsed.
const maxHeard = 1 << 20

// hear reads a log and skips lines that it cannot parse.
func hear(log io.Reader) *heardLog {
	h := &heardLog{}
	lines := bufio.NewReaderSize(log, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long := append([]byte{}, line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = lines.ReadSlice('\n')
				if len(long) < maxHeard {
					long = append(long, line...)
				}
			}
			line = long
		}
		event := h.stream.Feed(line)
		switch event.Type {
		case plan.ChangeSummary, plan.ApplyStart:
			h.toldPlan = true
		}
		if err != nil {
			return h
		}
	}
}

// planned returns the changes in the log, which a plan-and-apply run announces twice.
func (h *heardLog) planned() ([]run.Fate, int) {
	fates, total := h.stream.Fates()
	seen := map[string]bool{}
	var list []run.Fate
	for _, f := range fates {
		if !seen[f.Address] {
			seen[f.Address] = true
			list = append(list, run.Fate{Address: f.Address, Action: string(f.Action)})
		}
	}
	return list, max(0, total-len(fates))
}

// trace returns the steps in the log. Its end may be missing, so silence proves nothing.
func (h *heardLog) trace() *run.Trace {
	t := &run.Trace{Why: "the runner is gone, and may have seen more of tofu's output"}
	for _, a := range h.stream.Applied {
		if a.Action.OneStep() {
			ended := run.TraceDone
			if a.Failed {
				ended = run.TraceFailed
			}
			t.Steps = append(t.Steps, run.TraceStep{Address: a.Address, Action: string(a.Action), Ended: ended, ID: a.ID})
		}
	}
	for _, f := range h.stream.InFlight() {
		if f.Action.OneStep() {
			t.Steps = append(t.Steps, run.TraceStep{Address: f.Address, Action: string(f.Action), ID: f.ID})
		}
	}
	return t
}

// olderRunners adds the findings of older runners, unless the state now disproves them.
func olderRunners(r *run.Result, now *unproven.State) []run.Unproven {
	if r.Trace != nil {
		return nil
	}
	var list []run.Unproven
	add := func(address, id string, certain bool) {
		if now == nil || !now.Has(plan.Match(address)) {
			list = append(list, run.Unproven{Address: address, Action: run.ActionCreate, MayExist: true, Certain: certain, ID: id, StateUnread: now == nil})
		}
	}
	for _, lost := range r.Lost {
		address, id, _ := strings.Cut(strings.TrimSuffix(lost, ")"), " (")
		add(address, id, true)
	}
	for _, address := range r.InDoubt {
		add(address, "", false)
	}
	return list
}
