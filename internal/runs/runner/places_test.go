// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

func TestCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		active int
		tally  tally
		want   int
	}{
		"as many as work, and as many ahead": {want: 4},
		"all taken":                          {active: 4, want: 0},
		"one waits for a review":             {active: 4, tally: tally{aside: 1}, want: 1},
		"two ship their results":             {active: 4, tally: tally{ending: 2}, want: 2},
		"many results are not shipped":       {active: 40, tally: tally{ending: 36}, want: 0},
		"states that wait for a person":      {active: 40, tally: tally{ending: 40, stuck: 40}, want: 4},
		"they are bounded, too":              {active: 600, tally: tally{ending: 600, stuck: 600}, want: 0},
		"runs take long: none ahead":         {active: 1, tally: tally{held: brisk + 1}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runner{Equipment: &execution.Equipment{Opts: execution.Options{Capacity: 2}}, active: map[string]*job{}, tally: c.tally}
			for i := range c.active {
				r.active[fmt.Sprint(i)] = nil
			}
			if got := r.capacity(); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// asked reports whether the server received a request of the run.
func (b *bench) asked(r *fakeRun, request string) func() bool {
	return func() bool { return slices.Contains(r.requests, request) }
}

func TestNextRunIsPreparedWhileAnotherWorks(t *testing.T) {
	b := newBench(t)
	b.opts.Capacity = 1
	b.start()
	working, open := b.applying("working")
	next := b.server.submit(b.stack("next", run.OperationPlanAndApply, program(twoThings)))
	third := b.server.submit(b.stack("third", run.OperationPlanAndApply, program(twoThings)))
	b.server.wait(next, "the preparation of the next run", func() bool {
		return b.asked(next, "GET artifact")() && b.asked(next, "GET state")()
	})
	b.server.mu.Lock()
	waiting, begun := len(b.server.queue), len(third.requests)
	b.server.mu.Unlock()
	if waiting != 1 || begun != 0 {
		t.Errorf("%d runs wait for the runner, and the third has asked %d times: one ahead is enough", waiting, begun)
	}
	// The runner reports it with the next poll.
	eventually(t, "the server to hear of it", func() bool {
		return b.server.saw(func(p run.PollRequest) bool { return p.Places == 1 && slices.Equal(p.Ahead, []string{next.spec.ID}) })
	})
	open()
	first, second := b.server.finished(working), b.server.finished(next)
	if first.Outcome != run.OutcomeSucceeded || second.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v\n%+v", first, second)
	}
	end := first.Steps[len(first.Steps)-1]
	if began := startOf(second, run.StepInit); began.Before(end.Started.Add(time.Duration(end.Wall))) {
		t.Errorf("both worked at a time: the second from %s on, the first from %s for %s", began, end.Started, time.Duration(end.Wall))
	}
	b.server.finished(third)
}

func startOf(result *run.Result, step run.Step) time.Time {
	for _, s := range result.Steps {
		if s.Step == step {
			return s.Started
		}
	}
	return time.Time{}
}

func TestResultsThatAreNotTakenKeepNobodyFromWorking(t *testing.T) {
	b := newBench(t)
	b.opts.Capacity = 1
	b.start()
	stuck := b.stack("stuck", run.OperationPlan, program(twoThings))
	stuck.busy = true
	b.server.submit(stuck)
	b.server.wait(stuck, "the result that nobody takes", b.asked(stuck, "POST result"))
	for i := range 3 {
		b.succeed(b.stack(fmt.Sprintf("other%d", i), run.OperationPlan, program(twoThings)))
	}
	b.server.mu.Lock()
	stuck.busy = false
	b.server.mu.Unlock()
	if result := b.server.finished(stuck); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v", result)
	}
}

func TestRunThatWaitsForAPlaceCanBeStopped(t *testing.T) {
	b := newBench(t)
	b.opts.Capacity = 1
	b.start()
	working, open := b.applying("working")
	next := b.server.submit(b.stack("next", run.OperationPlan, program(twoThings)))
	b.server.wait(next, "the preparation of the next run", b.asked(next, "GET artifact"))
	b.server.mu.Lock()
	b.server.cancel = []string{next.spec.ID}
	b.server.mu.Unlock()
	b.server.notify()
	if result := b.server.finished(next); result.Outcome != run.OutcomeCanceled || len(processes(result)) != 0 {
		t.Errorf("%+v", result)
	}
	open()
	if result := b.server.finished(working); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v", result)
	}
}

func TestNothingIsBegunWhenTheRunnerLeaves(t *testing.T) {
	r := newRunner(execution.Options{Capacity: 1})
	r.Places <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var f *fault.Failure
	if err := r.newJob("next", "").turn.awaitPlace(ctx); !errors.As(err, &f) || f.Outcome != run.OutcomeInterrupted {
		t.Errorf("%v", err)
	}
	<-r.Places
	j := r.newJob("next", "")
	if err := j.turn.awaitPlace(t.Context()); !errors.Is(err, execution.ErrNotThisStep) || !j.turn.placed {
		t.Errorf("%v, placed: %v", err, j.turn.placed)
	}
}

func TestAnApplyThatWasTakenOverHasAPlace(t *testing.T) {
	b := newBench(t)
	b.opts.Capacity = 1
	first := b.process()
	adopted, open := b.applying("adopted")
	first.Process.Kill()
	first.Wait()
	b.process()
	next := b.server.submit(b.stack("next", run.OperationPlan, program(twoThings)))
	eventually(t, "the preparation of the next run", func() bool {
		_, err := os.Stat(filepath.Join(b.opts.WorkRoot, "team", "next", workspace.CLIConfigName))
		return err == nil
	})
	opened := time.Now()
	open()
	result, second := b.server.finished(adopted), b.server.finished(next)
	if result.Outcome != run.OutcomeSucceeded || second.Outcome != run.OutcomeSucceeded {
		t.Fatalf("%+v\n%+v", result, second)
	}
	if began := startOf(second, run.StepInit); began.Before(opened) {
		t.Errorf("the next began to work at %s, the one before it could not end before %s", began, opened)
	}
}

func TestAnApplyTakesItsPlaceBeforeTheNextRunnerPolls(t *testing.T) {
	for sentence, tamper := range map[string]func(*spool.Journal){
		"its process is recorded":                        func(*spool.Journal) {},
		"the runner died before it recorded the process": func(j *spool.Journal) { j.Process.PID, j.Process.Start = 0, "" },
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t)
			b.opts.Capacity = 1
			first := b.process()
			adopted, open := b.applying("adopted")
			first.Process.Kill()
			first.Wait()
			j := b.journal(adopted)
			tamper(&j)
			if err := (spool.Dir{Root: b.spooled(adopted, "")}).WriteJSON(spool.JournalFile, j); err != nil {
				t.Fatal(err)
			}
			r := b.runner()
			if left, err := r.adoptLeft(t.Context(), adopted.spec.ID); err != nil || !left {
				t.Fatal(left, err)
			}
			if n := len(r.Places); n != 1 {
				t.Errorf("%d places are taken", n)
			}
			open()
			if result := b.server.finished(adopted); result.Outcome != run.OutcomeSucceeded {
				t.Errorf("%+v", result)
			}
			r.group.Wait()
		})
	}
}

func TestAStateThatWaitsForAPersonTakesNoPlace(t *testing.T) {
	r := newRunner(execution.Options{Capacity: 1})
	j := r.newJob("first", "")
	count := func(what string, ending, stuck int) {
		t.Helper()
		if r.tally.ending != ending || r.tally.stuck != stuck {
			t.Errorf("%s: %+v", what, r.tally)
		}
	}
	j.turn.stall(true)
	count("the apply goes on", 0, 0)
	j.turn.end()
	count("the apply is over", 1, 1)
	j.turn.stall(true)
	count("it was tried again", 1, 1)
	j.turn.stall(false)
	count("somebody helped", 1, 0)
	j.turn.stall(true)
	j.turn.gone()
	count("it is gone", 0, 0)
}

func TestAStateIsOfferedUntilSomebodyHasHelped(t *testing.T) {
	b := newBench(t)
	b.start()
	r := b.stack("vpc", run.OperationPlanAndApply, program(twoThings))
	r.refuse = 503
	if result := b.server.finished(b.server.submit(r)); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v", result)
	}
}
