// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// narrator prints progress for the person who started the server: the start, each completed run,
// and the runs that a stop waits for. For causes, see the log.
//
// If the output is not read, for example by a stopped program, neither runs nor the server's end
// wait.
type narrator struct {
	mu  sync.Mutex
	out io.Writer
	// quiet disables all output.
	quiet bool
	// lines are about runs. They are dropped if the channel is full.
	lines chan string
}

const (
	// maxLines is the number of lines about runs that wait for a reader.
	maxLines = 1000
	// sayPatience is how long start and end of the server wait for a reader.
	sayPatience = time.Second
)

func newNarrator(o *Common) *narrator {
	return &narrator{out: o.News, quiet: o.Quiet, lines: make(chan string, maxLines)}
}

// say prints a line, unless the output is blocked.
func (n *narrator) say(format string, args ...any) {
	if n.quiet {
		return
	}
	said := make(chan struct{})
	go func() {
		n.write(fmt.Sprintf(format, args...))
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(sayPatience):
	}
}

func (n *narrator) write(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out != nil {
		fmt.Fprintln(n.out, line)
	}
}

// run prints a line for a completed run, except for drift checks without drift.
func (n *narrator) run(rec run.Record) {
	if n.quiet || rec.Quiet || rec.Result == nil {
		return
	}
	select {
	case n.lines <- runLine(rec):
	default:
	}
}

// tell prints queued lines about runs until ctx ends.
func (n *narrator) tell(ctx context.Context) {
	for {
		select {
		case line := <-n.lines:
			n.write(line)
		case <-ctx.Done():
			return
		}
	}
}

// maxRunLine limits an error in a run's line; `yuba status` shows all of it.
const maxRunLine = 200

// runLine formats a completed run, such as "15:04:05 default/vpc: applied +3 ~0 -0 (2.1s)".
func runLine(rec run.Record) string {
	line := fmt.Sprintf("%s %s: %s", rec.Result.Finished.Local().Format(time.TimeOnly), rec.Spec.Stack, runInWords(rec))
	if rec.Started != nil {
		line += fmt.Sprintf(" (%s)", rec.Result.Finished.Sub(*rec.Started).Round(100*time.Millisecond))
	}
	return diagnostic.Printable(line)
}

func runInWords(rec run.Record) string {
	result := rec.Result
	switch {
	case result.Outcome == run.OutcomeCanceled:
		return rec.Spec.Title() + " canceled"
	case result.Outcome != run.OutcomeSucceeded && rec.Spec.StateChange != nil && rec.Spec.StateChange.Verb.Reads():
		return fmt.Sprintf("%s %s", rec.Spec.Title(), result.Outcome) // the reason can quote the state
	case result.Outcome != run.OutcomeSucceeded:
		why, _, _ := strings.Cut(strings.TrimSpace(result.Error), "\n")
		return fmt.Sprintf("%s %s: %s", rec.Spec.Title(), result.Outcome, shorten.CutBytes(why, maxRunLine))
	case rec.Spec.Operation.ByHand():
		return rec.Spec.Title() + " done"
	case result.SameModules:
		return "not planned, its modules are unchanged"
	case result.Applied && result.AppliedCounts != nil:
		return appliedWord(rec) + " " + plan.Counts(*result.AppliedCounts).Summary()
	case result.Applied:
		return appliedWord(rec)
	case result.Plan != nil && result.Plan.Changes:
		return "planned " + plan.Counts(result.Plan.Counts).Summary()
	}
	return "planned, no changes"
}

func appliedWord(rec run.Record) string {
	if rec.Spec.Destroy {
		return "destroyed"
	}
	return "applied"
}

// stopping prints that the server stops, and which runs continue without it.
func (n *narrator) stopping(q content.Queue) {
	var working []string
	waiting := 0
	for _, entry := range q.Items {
		switch {
		case entry.Phase == phaseByHand: // a shell; its user knows
			continue
		case entry.Place > 0, entry.Phase == content.PhasePrepared:
			waiting++
			continue
		}
		working = append(working, fmt.Sprintf("%s/%s (%s)", entry.Namespace, entry.Name, entry.Phase))
	}
	n.say("%s", stopWords(working, waiting))
}

// maxNamed is how many runs are listed when the server stops.
const maxNamed = 10

func stopWords(working []string, waiting int) string {
	words := "Stopping Yuba"
	if len(working) > 0 {
		named := working[:min(len(working), maxNamed)]
		words += fmt.Sprintf(". The runner finishes %s without it; the next start records the results: %s", countOf(len(working), "run"), strings.Join(named, ", "))
		if more := len(working) - len(named); more > 0 {
			words += fmt.Sprintf(" and %d more", more)
		}
	}
	if waiting > 0 {
		words += fmt.Sprintf(". The next start resumes %s", countOf(waiting, "queued run"))
	}
	return words
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
