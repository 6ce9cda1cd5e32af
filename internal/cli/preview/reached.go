// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// reached is a stack that reads what a plan changes.
type reached struct {
	Stack string `json:"stack"`
	// Level is the number of steps from a planned stack, Effect what happens, Because why.
	Level   int      `json:"level"`
	Effect  string   `json:"effect"`
	Because []string `json:"because"`
	// Inputs are the parts that it reads and that change. Breaks says how that breaks a contract.
	Inputs []impact.Input `json:"inputs,omitempty"`
	Breaks []string       `json:"breaks,omitempty"`
	// Planned says that the change reaches the stack itself, too: its plan is without what the other one
	// changes.
	Planned bool `json:"planned,omitempty"`
}

// reachedBy lists the stacks that read what the planned ones change, together, and that run or may run.
func reachedBy(stacks []infrav1.Terraform, planned []surveyed) (list []reached) {
	plans, names := impact.Plans{}, []string(nil)
	var judged []speculative.Contract
	for i := range planned {
		t := &planned[i].Try
		switch t.Result() {
		case speculative.ResultChanges, speculative.ResultUnchanged:
			c := impact.Change{}
			for _, o := range t.Outputs {
				c[o.Name] = o
			}
			plans[t.Stack()], names, judged = c, append(names, t.Stack()), append(judged, t.Contracts...)
		}
	}
	found := impact.Of(stacks).ImpactOfAll(names, plans)
	for _, c := range judged {
		for _, h := range c.Broken {
			found.Break(h.Consumer, h.String())
		}
	}
	for level, row := range found.Levels {
		for _, r := range row {
			if r.Effect == impact.Rests && len(r.Breaks) == 0 {
				continue
			}
			one := reached{Stack: r.Stack, Level: level + 1, Effect: effects[r.Effect], Because: r.Because, Inputs: r.Inputs, Breaks: r.Breaks, Planned: slices.Contains(names, r.Stack)}
			if len(r.Breaks) > 0 {
				one.Effect = breaking
			}
			list = append(list, one)
		}
	}
	return list
}

// breaking is the effect on a stack whose contract breaks.
const breaking = "breaks"

var effects = map[impact.Effect]string{impact.Runs: "runs", impact.MayRun: "may run"}

// consequence is the stack as a comment shows it.
func (r *reached) consequence() comment.Consequence {
	c := comment.Consequence{Name: r.Stack, Level: r.Level, Effect: comment.MayRun, Here: r.Planned}
	switch r.Effect {
	case effects[impact.Runs]:
		c.Effect = comment.Runs
	case breaking:
		c.Effect, c.Because = comment.Breaks, r.Breaks
	}
	for _, in := range r.Inputs {
		c.Inputs = append(c.Inputs, comment.Input{From: in.From, Path: in.Path, Before: in.Before.Inline(), After: in.After.Inline()})
	}
	if len(c.Inputs)+len(c.Because) == 0 {
		c.Because = r.Because
	}
	return c
}

// maxShownInputs limits the inputs of a row; -o json has all.
const maxShownInputs = 3

// showReached prints the stacks behind the planned ones.
func (v *surveyView) showReached(s *session.Session, out *ui.Output) error {
	if len(v.Reached) == 0 {
		return nil
	}
	fmt.Fprintln(s.Out)
	rows := [][]string{{"LEVEL", "STACK", "EFFECT", "READS"}}
	for _, r := range v.Reached {
		effect := r.Effect
		if r.Planned {
			effect += " (planned above)"
		}
		rows = append(rows, []string{fmt.Sprint(r.Level), r.Stack, effect, strings.Join(r.reads(), "; ")})
	}
	return s.Table(rows, out)
}

// reads says what breaks, and what else changes in what a stack reads.
func (r *reached) reads() []string {
	parts := slices.Clone(r.Breaks)
	for i, in := range r.Inputs {
		if i == maxShownInputs {
			return append(parts, fmt.Sprintf("and %d more", len(r.Inputs)-i))
		}
		parts = append(parts, fmt.Sprintf("%s of %s: %s -> %s", in.Path, in.From, ui.FirstLine(in.Before.Inline(), maxShownValue), ui.FirstLine(in.After.Inline(), maxShownValue)))
	}
	if len(r.Inputs) == 0 {
		parts = append(parts, r.Because...)
	}
	return parts
}

// maxShownValue limits a value in a cell.
const maxShownValue = 40
