// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

const (
	// maxShownMoves and maxShownProblems limit lists for people; -o json has all.
	maxShownMoves    = 20
	maxShownProblems = 20
)

// show prints a proposal.
func (p *proposal) show(s *session.Session, out *ui.Output) error {
	if out.Machine() {
		return out.Print(s.Out, p)
	}
	showMoves(s, &p.Refactoring)
	rows := [][]string{{"STACK", "SERIAL", "INSTANCES", "PLAN", "PROBLEMS"}}
	for i := range p.Plans {
		one := &p.Plans[i]
		serial, instances := "-", "-"
		if m, ok := p.Refactoring.Member(one.Stack); ok {
			serial, instances = fmt.Sprintf("%d -> %d", m.Before.Serial, m.After.Serial), fmt.Sprintf("%d -> %d", m.Had, m.Has)
		}
		verdict := one.Result
		if one.Elsewhere != "" {
			verdict += " (" + one.Elsewhere + ")"
		}
		rows = append(rows, []string{one.Stack, serial, instances, verdict, cmp.Or(fmt.Sprint(len(one.Problems)), "0")})
	}
	if err := s.Table(rows, out); err != nil {
		return err
	}
	for i := range p.Plans {
		one := &p.Plans[i]
		for n, problem := range one.Problems {
			if n == maxShownProblems {
				fmt.Fprintf(s.Out, "  %s: and %d more\n", one.Stack, len(one.Problems)-n)
				break
			}
			fmt.Fprintf(s.Out, "  %s: %s\n", one.Stack, problem)
		}
	}
	return nil
}

func showMoves(s *session.Session, r *reshape.Record) {
	for i, m := range r.Moved {
		switch {
		case i == maxShownMoves:
			fmt.Fprintf(s.Out, "  and %d more\n\n", len(r.Moved)-i)
			return
		case m.To == "":
			fmt.Fprintf(s.Out, "  %s: %s is removed; the object stays\n", m.State, m.Address)
		case m.State == m.ToState:
			fmt.Fprintf(s.Out, "  %s: %s -> %s\n", m.State, m.Address, m.To)
		default:
			to := m.ToState + ": " + m.To
			if m.To == m.Address {
				to = m.ToState
			}
			fmt.Fprintf(s.Out, "  %s: %s -> %s\n", m.State, m.Address, to)
		}
	}
	if len(r.Moved) > 0 {
		fmt.Fprintln(s.Out)
	}
}

// showRecord prints a refactoring that is stored.
func showRecord(s *session.Session, r *reshape.Record, out *ui.Output) error {
	fmt.Fprintf(s.Out, "%s is %s since %s, proposed by %s\n", r.ID, phaseOf(r), r.Changed.Format(time.RFC3339), cmp.Or(r.By, "an unknown user"))
	previewed := ""
	if r.Unpreviewed {
		previewed = "no: it was applied with --without-preview"
	}
	for _, line := range []struct{ what, value string }{{"Applied by", r.AppliedBy}, {"Previewed", previewed}, {"Undoes", r.Undoes}, {"Undone by", r.UndoneBy}, {"Message", r.Message}} {
		if line.value != "" {
			fmt.Fprintf(s.Out, "%s: %s\n", line.what, line.value)
		}
	}
	fmt.Fprintln(s.Out)
	showMoves(s, r)
	rows := [][]string{{"STACK", "SERIAL", "INSTANCES", "VERSION"}}
	for _, m := range r.Members {
		rows = append(rows, []string{m.Stack, fmt.Sprintf("%d -> %d", m.Before.Serial, m.After.Serial), fmt.Sprintf("%d -> %d", m.Had, m.Has), cmp.Or(m.Version, "-")})
	}
	if err := s.Table(rows, out); err != nil {
		return err
	}
	if r.Phase == reshape.Applied && r.UndoneBy == "" {
		s.News("%s", strings.TrimSpace(fmt.Sprintf("Undo it:\n    yuba refactor undo %s -n %s", r.ID, r.Namespace)))
	}
	return nil
}
