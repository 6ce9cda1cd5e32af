// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

const (
	// keepEvery is how often the command asks for the plans that later levels read: the server forgets
	// those that nobody asks for.
	keepEvery = 15 * time.Second
	// forgetPatience limits how long the end of the command waits for the server to forget them.
	forgetPatience = 5 * time.Second
)

// keep asks for the plans that later levels read, until ctx ends.
func (w *impactWalk) keep(ctx context.Context) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range w.kept() {
			_, _ = w.session.Content.WaitForPreview(ctx, p.Namespace, p.Name, p.Run) // who reads it is told that it is gone
		}
	}
}

func (w *impactWalk) kept() []content.PlanOf {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []content.PlanOf
	for _, p := range w.runs {
		list = append(list, p)
	}
	return list
}

// forget lets the server forget the plans at once.
func (w *impactWalk) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetPatience)
	defer cancel()
	for _, p := range w.kept() {
		_ = w.session.Content.CancelPreview(ctx, p.Namespace, p.Name, p.Run) // else it is forgotten when nobody asks for it
	}
}

// first says what the speculative plan of the stack itself does.
func (v *impactView) first() string {
	groups := speculative.Fold([]content.Try{*v.Planned})
	text := trials.What(&groups[0])
	if revision := v.Planned.Revision; revision != "" {
		text = "at " + revision + ": " + text
	}
	return v.Stack + " " + text + "\n" + trials.Indented(groups[0].Error)
}

// showPlans prints the plans of the levels.
func (v *impactView) showPlans(s *session.Session) {
	for i := range v.Plans {
		level := &v.Plans[i]
		fmt.Fprintf(s.Out, "LEVEL %d\n", level.Level)
		for k := range level.Groups {
			fmt.Fprint(s.Out, trials.Text(&level.Groups[k]))
		}
		for _, r := range v.broken(i) {
			fmt.Fprintf(s.Out, "%s breaks:\n%s", r.Stack, trials.Indented(strings.Join(r.Breaks, "\n")))
		}
		if len(level.Rests) > 0 {
			fmt.Fprintf(s.Out, "%s: would not run, nothing that they read changes\n    %s\n", ui.Count(len(level.Rests), "stack"),
				ui.SomeOf(level.Rests, maxRests))
		}
	}
	if more := len(v.Levels) - len(v.Plans); more > 0 {
		s.News("%s not planned (--levels).", ui.Count(more, "more level"))
	}
}

// broken are the stacks of a planned level that the plans before it break.
func (v *impactView) broken(level int) (list []impact.Reached) {
	if level >= len(v.Levels) {
		return nil
	}
	for _, r := range v.Levels[level] {
		if len(r.Breaks) > 0 {
			list = append(list, r)
		}
	}
	return list
}

// breaking counts the stacks whose contract breaks.
func (v *impactView) breaking() (n int) {
	for i := range v.Levels {
		n += len(v.broken(i))
	}
	return n
}

// maxRests limits the stacks that are named although nothing happens to them.
const maxRests = 5

// outcome is the exit code.
func (w *impactWalk) outcome(ctx context.Context) error {
	all := []content.Try{}
	if w.view.Planned != nil {
		all = append(all, *w.view.Planned)
	}
	for _, level := range w.view.Plans {
		all = append(all, level.Stacks...)
	}
	failed, unknown := 0, 0
	for i := range all {
		switch all[i].Result() {
		case speculative.ResultFailed:
			failed++
		case speculative.ResultUnknown:
			unknown++
		}
	}
	switch {
	case ctx.Err() != nil:
		return ui.Exitf(ui.ExitInterrupted, "interrupted after %s", ui.Count(len(all), "plan"))
	case failed > 0:
		return ui.WithCode(ui.ExitRunFailed, errors.New(ui.Count(failed, "plan")+" failed"))
	case w.view.breaking() > 0:
		return ui.WithCode(ui.ExitRunFailed, errors.New("the plan breaks a contract of "+ui.Count(w.view.breaking(), "stack")))
	case unknown > 0:
		return ui.WithCode(ui.ExitWaiting, errors.New(ui.Count(unknown, "stack")+" cannot be planned before others are applied"))
	}
	return nil
}
