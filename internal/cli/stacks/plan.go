// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// NewPlanCommand is "yuba plan".
func NewPlanCommand(a *session.App) *cobra.Command {
	return planCommand(a, &cobra.Command{
		Use: "plan NAME", Short: "Show the pending plan, or the last one",
		Long: `Show the changes of a plan, object by object: the pending plan, else the last one that Yuba stored, or that of a run.
The first line names the plan and says whether it is pending, applied or superseded. Yuba stores the plans that wait for
approval; for plans that it applies without approval, "yuba logs" shows the changes.

The command hides sensitive values. It does not make a new plan; see "yuba replan" for that.`,
		Example: "  yuba plan vpc\n  yuba plan vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba plan vpc -o json",
	})
}

// NewShowCommand is "yuba show plan", as with tfctl.
func NewShowCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "show COMMAND",
		Short:   "Show a plan",
		Long:    "Show a plan, as \"yuba plan\" does.",
		Example: "  yuba show plan vpc",
		Hidden:  true,
	}, planCommand(a, &cobra.Command{
		Use: "plan NAME", Short: "Show the pending plan, or the last one", Long: "The same as \"yuba plan\".", Example: "  yuba show plan vpc", Hidden: true,
	}))
}

func planCommand(a *session.App, cmd *cobra.Command) *cobra.Command {
	var runID string
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(1, 1), a.StackNames(false)
	cmd.Flags().StringVar(&runID, "run", "", "the run whose plan to show")
	ui.CompleteFlag(cmd, "run", a.AboutStack(runIDs))
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return showPlan(ctx, s, t, runID, out)
	})
	return cmd
}

func showPlan(ctx context.Context, s *session.Session, t *infrav1.Terraform, runID string, out *ui.Output) error {
	key := session.KeyOf(t)
	p, err := readPlan(ctx, s, key, runID)
	if err != nil && runID == "" {
		if none := noPlan(ctx, s, t, err); none != nil {
			return none
		}
	}
	if err != nil {
		return fmt.Errorf("show the plan of %s: %w", key, err)
	}
	if out.Machine() {
		return out.Print(s.Out, p)
	}
	if heading := planHeading(t, p.Standing, time.Now()); heading != "" {
		fmt.Fprintf(s.Out, "%s\n\n", s.Paint(s.Out, ui.ColorBold, heading))
	}
	fmt.Fprint(s.Out, plan.Render(p, plan.RenderOptions{Color: s.Colors(s.Out)}))
	if runID != "" && runID != t.Status.Plan.RunID {
		return nil
	}
	if news := contractNews(t); news != "" {
		s.News("%s", news)
	}
	if news := policyNews(t); news != "" {
		s.News("%s", news)
	}
	if t.AwaitsApproval() {
		s.News("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, s.Call(key), t.Status.Plan.Pending)
	}
	return nil
}

// readPlan reads the plan of a run, or the pending or last one.
func readPlan(ctx context.Context, s *session.Session, key types.NamespacedName, runID string) (*plan.Plan, error) {
	document, err := s.Content.Plan(ctx, key.Namespace, key.Name, runID)
	if err != nil {
		return nil, err
	}
	return plan.Decode(document)
}
