// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// problem is why a proposal cannot be applied; nil if it can.
func (p *proposal) problem() error {
	failed, wrong := 0, 0
	for i := range p.Plans {
		switch one := &p.Plans[i]; {
		case len(one.Problems) == 0:
		case one.Result == speculative.ResultUnchanged || one.Result == speculative.ResultChanges:
			wrong++
		default:
			failed++
		}
	}
	switch {
	case failed > 0:
		return ui.Exitf(ui.ExitRunFailed, "%s cannot be planned on the new states. Nothing was changed", ui.Count(failed, "stack"))
	case wrong > 0:
		return ui.Exitf(ui.ExitFailure, "%s would change the infrastructure, or not as the file says. Nothing was changed.\n"+
			"Change the programs or the file until the plans agree, or name the changes in an expect block", ui.Count(wrong, "plan"))
	}
	return nil
}

// apply shows a proposal, asks, and writes the states.
func (o *options) apply(ctx context.Context, s *session.Session, p *proposal) error {
	if err := p.problem(); err != nil {
		return errorAfter(p.show(s, o.out), err)
	}
	if p.Refactoring.ID == "" {
		return ui.Exitf(ui.ExitFailure, "the file changes no state: the imports happen when the stacks are applied")
	}
	if err := p.suspended(s, o.unplanned); err != nil {
		return errorAfter(p.show(s, o.out), err)
	}
	if !o.out.Machine() {
		if err := p.show(s, o.out); err != nil {
			return err
		}
	}
	if o.unplanned {
		s.News("No plan was made: nobody knows whether the programs fit the new states.")
	}
	question := fmt.Sprintf("The states of %s are changed as one operation.", strings.Join(p.Refactoring.Stacks(), ", "))
	if err := s.MustConfirm(o.yes, question); err != nil {
		return err
	}
	done, err := s.Content.ApplyRefactoring(ctx, s.Namespace, p.Refactoring.ID, p.accepted(o))
	if err != nil {
		return explain("apply the refactoring "+p.Refactoring.ID, err)
	}
	p.Refactoring = done
	if o.out.Machine() {
		return o.out.Print(s.Out, p)
	}
	s.News("Applied %s: %s moved. Undo it:\n    yuba refactor undo %s -n %s", done.ID, ui.Count(len(done.Moved), "instance"), done.ID, s.Namespace)
	p.next(s)
	return nil
}

// accepted says which plans the states are based on. The server refuses if it knows later ones.
func (p *proposal) accepted(o *options) content.Acceptance {
	a := content.Acceptance{Plans: map[string]string{}, Unpreviewed: o.unplanned}
	for i := range p.Plans {
		if one := &p.Plans[i]; one.Try != nil {
			if _, changes := p.Refactoring.Member(one.Stack); changes {
				a.Plans[one.Stack] = one.Try.ChangesDigest
			}
		}
	}
	return a
}

// errorAfter is the first error.
func errorAfter(first, then error) error {
	if first != nil {
		return first
	}
	return then
}

// suspended refuses a proposal whose plans used other programs than the stacks have, or that has no plans, unless the
// stacks are suspended: their next run would use the old program with the new state.
func (p *proposal) suspended(s *session.Session, unplanned bool) error {
	var running []string
	if unplanned {
		for _, name := range p.Refactoring.Stacks() {
			if t := p.stacks[name]; t != nil && !t.Spec.Suspend {
				running = append(running, name)
			}
		}
		if len(running) > 0 {
			return ui.Exitf(ui.ExitFailure, "without a preview, the next runs of %s may undo the moves. Suspend the stacks until you have reviewed their next plans:\n    yuba suspend %s -n %s",
				strings.Join(running, ", "), strings.Join(running, " "), s.Namespace)
		}
	}
	for i := range p.Plans {
		if one := &p.Plans[i]; one.Elsewhere != "" && !p.stacks[one.Stack].Spec.Suspend {
			running = append(running, one.Stack)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return ui.Exitf(ui.ExitFailure, "the plans used other programs than %s have now, so the next runs would undo the moves. Suspend the stacks until they have the new programs:\n    yuba suspend %s -n %s",
		strings.Join(running, ", "), strings.Join(running, " "), s.Namespace)
}

// next says how the stacks go on.
func (p *proposal) next(s *session.Session) {
	var paused []string
	for _, name := range slices.Sorted(maps.Keys(p.stacks)) {
		if p.stacks[name].Spec.Suspend {
			paused = append(paused, name)
		}
	}
	if len(paused) > 0 {
		s.News("Resume the suspended stacks once they have their new programs:\n    yuba resume %s -n %s", strings.Join(paused, " "), s.Namespace)
	}
}
