// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/plan"
)

func newPlanCommand(a *app) *cobra.Command {
	return planCommand(a, &cobra.Command{
		Use:   "plan NAME",
		Short: "Show the plan that waits, or the last one",
		Long: `Show what a plan does, object by object: the plan that waits for approval, else the last one, or that of a run.
Sensitive values are not in it. Nothing is planned anew; see "yuba replan" for that.`,
		Example: "  yuba plan vpc\n  yuba plan vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba plan vpc -o json",
	})
}

// newShowCommand is for hands that are used to tfctl.
func newShowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show COMMAND",
		Short:   "Show a plan",
		Long:    "Show a plan, as \"yuba plan\" does.",
		Example: "  yuba show plan vpc",
		Hidden:  true,
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(planCommand(a, &cobra.Command{
		Use: "plan NAME", Short: "Show the plan that waits, or the last one", Long: "The same as \"yuba plan\".", Example: "  yuba show plan vpc", Hidden: true,
	}))
	return cmd
}

func planCommand(a *app, cmd *cobra.Command) *cobra.Command {
	var runID string
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1), a.stackNames(false)
	cmd.Flags().StringVar(&runID, "run", "", "the run whose plan to show")
	out := addOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		return s.plan(ctx, key, runID, out)
	})
	return cmd
}

func (s *session) plan(ctx context.Context, key types.NamespacedName, runID string, out *output) error {
	t, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	document, err := s.content.Plan(ctx, key.Namespace, key.Name, runID)
	ready := conditionOf(t, infrav1.ConditionReady)
	if r := t.Status.LastRun; apierrors.IsNotFound(err) && runID == "" && r != nil && failed(r) && ready.Reason != infrav1.ReasonApplyFailed {
		return exitf(exitNotFound, "show the plan of %s: there is none, because run %s %s:\n%s\nIts log says more:\n    yuba logs %s --run %s",
			key, r.ID, r.Status, strings.TrimSpace(ready.Message), s.call(key), r.ID)
	}
	if err != nil {
		return fmt.Errorf("show the plan of %s: %w", key, err)
	}
	p, err := plan.Decode(document)
	if err != nil {
		return fmt.Errorf("show the plan of %s: %w", key, err)
	}
	if out.machine() {
		return out.print(s.out, p)
	}
	fmt.Fprint(s.out, plan.Render(p, plan.RenderOptions{Color: s.colors(s.out)}))
	if t.AwaitsApproval() && (runID == "" || runID == t.Status.Plan.RunID) {
		s.news("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, s.call(key), t.Status.Plan.Pending)
	}
	return nil
}
