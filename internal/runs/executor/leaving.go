// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// noteLeaving remembers what a runner that was let go still finishes, and has the stacks looked at whose runs wait for
// that, or no longer do. The executor's lock is held.
func (e *Executor) noteLeaving(req run.PollRequest) {
	var leaving []run.Stack
	for _, id := range req.Active {
		if en := e.hand[id]; en != nil && !e.opts.Backend.Starts(req.Build) {
			leaving = append(leaving, en.stack)
		}
	}
	h := e.homeOf(req.Home)
	if slices.Equal(leaving, h.leaving) {
		return
	}
	h.leaving = leaving
	for _, en := range e.hand {
		if e.waits(en) {
			e.tell(en.stack)
		}
	}
}

func (e *Executor) tell(stack run.Stack) {
	if e.opts.Ended != nil {
		e.opts.Ended(stack)
	}
}

// namedStacks is how many stacks are named to those who wait for them.
const namedStacks = 3

// waitsFor says in words why a run cannot end, or has no runner although there is one; "" otherwise. The executor's lock
// is held.
func (e *Executor) waitsFor(en *entry) string {
	if en.hindered != "" {
		return run.WaitsForState + en.hindered
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.homes)) {
		for _, stack := range e.homes[name].leaving {
			names = append(names, stack.String())
		}
	}
	if len(names) == 0 || !e.waits(en) {
		return ""
	}
	text := run.WaitsForRunner + strings.Join(names[:min(len(names), namedStacks)], ", ")
	if more := len(names) - namedStacks; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
