// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
)

// NewImpactCommand is "yuba impact".
func NewImpactCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "impact STACK", SuggestFor: []string{"blast-radius", "dependants"},
		Short: "Show which stacks would run if a stack changed",
		Long: `Show which stacks read from a stack, directly or through others, and would run if it changed: level by level, in the order
in which they would run, and why. Stacks that only name it in dependsOn are not started by a change.

If the stack has a pending plan, the command compares what each stack reads with the outputs that the plan changes. It then
says which stacks run, which may run, because a value is known after the apply only, and which rest.`,
		Example: "  yuba impact network\n  yuba impact team-a/network -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		found, err := impactOf(ctx, s, key)
		if err != nil {
			return err
		}
		if out.Machine() {
			return out.Print(s.Out, found)
		}
		return found.show(s, out)
	})
	return cmd
}

// impactView is the answer of the command, as in -o json.
type impactView struct {
	// Stack is NAMESPACE/NAME.
	Stack string `json:"stack"`
	// Plan is the id of the pending plan that was compared; empty if there is none.
	Plan string `json:"plan,omitempty"`
	// Partial is set if only the stacks of one namespace could be listed.
	Partial       bool `json:"partial,omitempty"`
	impact.Impact `json:",inline"`
}

func impactOf(ctx context.Context, s *session.Session, key types.NamespacedName) (*impactView, error) {
	t, err := s.Get(ctx, key)
	if err != nil {
		return nil, s.StackError("show the impact of", key, err)
	}
	s.Namespace = key.Namespace
	m, all, err := readMap(ctx, s, true)
	if err != nil {
		return nil, err
	}
	view := &impactView{Stack: key.String(), Plan: t.Status.Plan.Pending, Partial: !all}
	var change impact.Change
	if view.Plan != "" {
		p, err := readPlan(ctx, s, key, t.Status.Plan.RunID)
		if err != nil {
			return nil, s.StackError("read the pending plan of", key, err)
		}
		change = impact.ChangeOf(p)
	}
	view.Impact = m.Impact(view.Stack, change)
	return view, nil
}

var effectsInWords = map[impact.Effect]string{impact.Runs: "runs", impact.MayRun: "may run", impact.Rests: "rests"}

func (v *impactView) show(s *session.Session, out *ui.Output) error {
	if v.Partial {
		s.News("You may list stacks of namespace %s only, so those of other namespaces are missing.", s.Namespace)
	}
	if len(v.Levels) == 0 {
		s.News("No stack reads from %s.", v.Stack)
		return nil
	}
	if v.Cycle != nil {
		s.News("These stacks read from each other in a circle, so their levels mean nothing: %s.", strings.Join(v.Cycle, ", "))
	}
	rows := [][]string{{"LEVEL", "STACK", "EFFECT", "READS"}}
	for i, level := range v.Levels {
		for _, r := range level {
			effect := effectsInWords[r.Effect]
			if r.Suspended {
				effect += " (suspended)"
			}
			rows = append(rows, []string{fmt.Sprint(i + 1), r.Stack, effect, strings.Join(r.Because, "; ")})
		}
	}
	if err := s.Table(rows, out); err != nil {
		return err
	}
	what := "If " + v.Stack + " changes"
	if v.Plan != "" {
		what = "If " + v.Plan + " is applied"
	}
	s.News("%s: %d run, %d may run, %d rest.", what, v.Count(impact.Runs), v.Count(impact.MayRun), v.Count(impact.Rests))
	return nil
}
