// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// impactFlags are the flags of "yuba impact".
type impactFlags struct {
	dir, revision    string
	plan             bool
	levels, parallel int
}

// NewImpactCommand is "yuba impact".
func NewImpactCommand(a *session.App) *cobra.Command {
	var f impactFlags
	cmd := &cobra.Command{
		Use: "impact STACK", SuggestFor: []string{"blast-radius", "dependants"},
		Short: "Show which stacks would run if a stack changed, and plan them",
		Long: `Show which stacks read from a stack, directly or through others, and would run if it changed: level by level, in the order
in which they would run, and why. Stacks that only name it in dependsOn are not started by a change.

If the stack has a pending plan, the command compares what each stack reads with the outputs that the plan changes. It then
says which stacks run, which may run, because a value is known after the apply only, and which rest. With --dir or --revision
it makes a speculative plan of the stack with another source, and compares the outputs of that plan.

With --plan it also makes speculative plans of the stacks that would run, with the planned values in place of the published
ones: level by level, as the planned outputs of one level are what the next one reads. A stack that reads a value that is
unknown until another one is applied is listed as such and not planned: Yuba invents no values. Identical plans are shown
once, with their stacks.

Speculative plans cannot be applied, take no lock, and change no status. They run after all other runs, with the stacks'
credentials; policies judge the configuration first. An uploaded directory is removed from the server when its plan ends. They
require the right to create the resource "terraforms/preview" of the API group content.yuba.dev in the namespaces of the
stacks; the role "edit" has it. Ctrl-C cancels the plans that have not ended, and shows the results so far.

The exit code is 4 if a plan failed or breaks a contract, 5 if stacks cannot be planned before others are applied, else 0.`,
		Example: `  yuba impact network
  yuba impact team-a/network -o json
  yuba impact network --dir ./infrastructure
  yuba impact network --revision feature/ranges --plan
  yuba impact network --revision 5f0c1f8e2b7d4a6c9e3f1b2a4d5c6e7f80912a3b --plan --levels 2 -o json`,
		Args: ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "plan the stack with this directory in place of its source")
	flags.StringVar(&f.revision, "revision", "", "plan the stack at this commit, branch or refs/… of its GitRepository")
	flags.BoolVar(&f.plan, "plan", false, "plan the stacks that would run, with the planned values")
	flags.IntVar(&f.levels, "levels", 0, "with --plan, plan at most this many levels; 0 for all")
	flags.IntVar(&f.parallel, "parallel", trials.Parallel, "request this many plans at a time")
	cmd.MarkFlagsMutuallyExclusive("dir", "revision")
	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(fmt.Sprintf("complete --dir: %v. This is a bug in Yuba.", err))
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if f.levels < 0 || f.parallel < 1 {
			return ui.UsageErrorf(cmd, "--levels must not be negative, and --parallel must be at least 1")
		}
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		return f.run(cmd.Context(), s, key, out)
	})
	return cmd
}

// run answers with what a change does, and plans what the flags ask for.
func (f *impactFlags) run(ctx context.Context, s *session.Session, key types.NamespacedName, out *ui.Output) error {
	w, err := f.begin(ctx, s, key)
	if err != nil {
		return err
	}
	if err := w.change(ctx, key); err != nil {
		return err
	}
	if f.plan && w.view.Planned != nil && w.view.Planned.Result() != speculative.ResultCanceled {
		if err := w.walk(ctx); err != nil {
			return err
		}
	}
	if out.Machine() {
		if err := out.Print(s.Out, w.view); err != nil {
			return err
		}
	} else if err := w.view.show(s, out); err != nil {
		return err
	}
	return w.outcome(ctx)
}

// impactView is the answer of the command, as in -o json.
type impactView struct {
	// Stack is NAMESPACE/NAME.
	Stack string `json:"stack"`
	// Plan is the id of the pending plan that was compared; empty if there is none.
	Plan string `json:"plan,omitempty"`
	// Planned is the speculative plan of the stack; nil if there is none.
	Planned *content.Try `json:"planned,omitempty"`
	// Partial is set if only the stacks of one namespace could be listed.
	Partial       bool `json:"partial,omitempty"`
	impact.Impact `json:",inline"`
	// Plans are the speculative plans of the others, level by level.
	Plans []plannedLevel `json:"plans,omitempty"`
}

// begin reads the edges and the stack.
func (f *impactFlags) begin(ctx context.Context, s *session.Session, key types.NamespacedName) (*impactWalk, error) {
	t, err := s.Get(ctx, key)
	if err != nil {
		return nil, s.StackError("show the impact of", key, err)
	}
	s.Namespace = key.Namespace
	m, all, err := readMap(ctx, s, true)
	if err != nil {
		return nil, err
	}
	return &impactWalk{session: s, flags: f, edges: m, pending: t.Status.Plan.Pending, pendingRun: t.Status.Plan.RunID,
		view: &impactView{Stack: key.String(), Partial: !all}, plans: impact.Plans{}, runs: map[string]content.PlanOf{}}, nil
}

// change finds out what changes in the stack's outputs: by a speculative plan, or from the pending
// one.
func (w *impactWalk) change(ctx context.Context, key types.NamespacedName) error {
	view := w.view
	switch {
	case w.flags.plan || w.flags.dir != "" || w.flags.revision != "":
		planned, err := w.planFirst(ctx, key)
		if err != nil {
			return err
		}
		if view.Planned = &planned; !succeeded(&planned) {
			return nil // there is nothing to compare
		}
		w.plans[view.Stack] = changeOf(&planned)
	case w.pending != "":
		p, err := readPlan(ctx, w.session, key, w.pendingRun)
		if err != nil {
			return w.session.StackError("read the pending plan of", key, err)
		}
		view.Plan, w.plans[view.Stack] = w.pending, impact.ChangeOf(p)
	default:
		w.plans[view.Stack] = nil
	}
	view.Impact = w.edges.ImpactOf(view.Stack, w.plans)
	w.breaks()
	return nil
}

var effectsInWords = map[impact.Effect]string{impact.Runs: "runs", impact.MayRun: "may run", impact.Rests: "rests"}

func (v *impactView) show(s *session.Session, out *ui.Output) error {
	if v.Partial {
		s.News("You may list stacks of namespace %s only, so those of other namespaces are missing.", s.Namespace)
	}
	if v.Planned != nil {
		fmt.Fprint(s.Out, v.first())
		if !succeeded(v.Planned) {
			return nil
		}
	}
	if len(v.Levels) == 0 {
		s.News("No stack reads from %s.", v.Stack)
		return nil
	}
	if v.Cycle != nil {
		s.News("These stacks read from each other in a circle, so their levels mean nothing: %s.", strings.Join(v.Cycle, ", "))
	}
	if v.Plans != nil {
		v.showPlans(s)
	} else if err := v.showTable(s, out); err != nil {
		return err
	}
	what := "If " + v.Stack + " changes"
	switch {
	case v.Plan != "":
		what = "If " + v.Plan + " is applied"
	case v.Planned != nil:
		what = "If this plan of " + v.Stack + " were applied"
	}
	s.News("%s: %d run, %d may run, %d rest.", what, v.Count(impact.Runs), v.Count(impact.MayRun), v.Count(impact.Rests))
	return nil
}

func (v *impactView) showTable(s *session.Session, out *ui.Output) error {
	rows := [][]string{{"LEVEL", "STACK", "EFFECT", "READS"}}
	for i, level := range v.Levels {
		for _, r := range level {
			effect := effectsInWords[r.Effect]
			if r.Suspended {
				effect += " (suspended)"
			}
			if len(r.Breaks) > 0 {
				effect = "breaks"
			}
			rows = append(rows, []string{fmt.Sprint(i + 1), r.Stack, effect, strings.Join(slices.Concat(r.Breaks, r.Because), "; ")})
		}
	}
	return s.Table(rows, out)
}
