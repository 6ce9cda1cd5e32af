// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

type chosen struct {
	everywhere bool
	selector   string
}

func (f *chosen) add(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVarP(&f.everywhere, "all-namespaces", "A", false, verb+" in all namespaces")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", verb+" only of stacks with these labels, such as team=network")
}

// awaiting lists the selected stacks whose plans wait for approval, longest first.
func awaiting(s *session.Session, cmd *cobra.Command, f chosen) ([]infrav1.Terraform, error) {
	match, err := labels.Parse(f.selector)
	if err != nil {
		return nil, ui.UsageErrorf(cmd, "-l %s: %w", f.selector, err)
	}
	namespace := s.Namespace
	if f.everywhere {
		namespace = ""
	}
	var stacks infrav1.TerraformList
	if err := s.Objects.List(cmd.Context(), &stacks, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: match}); err != nil {
		return nil, fmt.Errorf("list stacks: %w", err)
	}
	waiting := slices.DeleteFunc(stacks.Items, func(t infrav1.Terraform) bool { return !t.AwaitsApproval() })
	slices.SortStableFunc(waiting, func(a, b infrav1.Terraform) int { return plannedAt(&a).Compare(plannedAt(&b)) })
	return waiting, nil
}

func plannedAt(t *infrav1.Terraform) time.Time {
	if at := t.Status.LastPlanAt; at != nil {
		return at.Time
	}
	return time.Time{}
}

// NewPendingCommand is "yuba pending".
func NewPendingCommand(a *session.App) *cobra.Command {
	var f chosen
	var summary bool
	cmd := &cobra.Command{
		Use: "pending", SuggestFor: []string{"inbox", "approvals"},
		Short: "List the plans that wait for approval, with their changes",
		Long: `List the plans of a namespace, or of all, that wait for approval, those that wait longest first, and the changes of each.
The command hides sensitive values. "yuba approve --all" approves the plans.`,
		Example: "  yuba pending\n  yuba pending -A --summary\n  yuba pending -A -l team=network -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	f.add(cmd, "list plans")
	cmd.Flags().BoolVar(&summary, "summary", false, "omit the changes")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		waiting, err := awaiting(s, cmd, f)
		if err != nil {
			return err
		}
		if out.Machine() {
			return s.PrintStacks(session.StackList(waiting...), out)
		}
		return showPending(cmd.Context(), s, waiting, summary)
	})
	return cmd
}

// heldBy names the policies' rules that hold the plan of a stack, or the circuit breaker.
func heldBy(t *infrav1.Terraform) string {
	switch rules := t.ObjectingRules(); {
	case len(rules) > 0:
		return strings.Join(rules, ", ")
	case t.HeldByPolicy():
		return "policies"
	}
	return cmp.Or(t.Status.Plan.HeldBy, "-")
}

func showPending(ctx context.Context, s *session.Session, waiting []infrav1.Terraform, summary bool) error {
	if len(waiting) == 0 {
		s.News("No plan waits for approval.")
		return nil
	}
	rows := [][]string{{"NAMESPACE", "NAME", "PLAN", "CHANGES", "WAITS", "HELD BY"}}
	for _, t := range waiting {
		rows = append(rows, []string{t.Namespace, t.Name, t.Status.Plan.Pending, t.Status.Plan.Summary, ui.Age(time.Now(), plannedAt(&t)), heldBy(&t)})
	}
	if err := s.Table(rows, nil); err != nil || summary {
		return err
	}
	for i := range waiting {
		if err := showDifferences(ctx, s, &waiting[i]); err != nil {
			return err
		}
	}
	return nil
}

// showDifferences shows the changes of a pending plan, or reports that it cannot be read.
func showDifferences(ctx context.Context, s *session.Session, t *infrav1.Terraform) error {
	fmt.Fprintf(s.Out, "\n%s, %s:\n", session.KeyOf(t), t.Status.Plan.Pending)
	p, err := readPlan(ctx, s, session.KeyOf(t), t.Status.Plan.RunID)
	if err != nil {
		s.News("Cannot read the plan of %s: %v", session.KeyOf(t), err)
		return ctx.Err()
	}
	text := strings.TrimRight(plan.Render(p, plan.RenderOptions{Color: s.Colors(s.Out)}), "\n")
	_, err = fmt.Fprintln(s.Out, text)
	return err
}
