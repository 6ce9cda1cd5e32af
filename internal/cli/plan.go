// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/plan"
)

func newPlanCommand(a *app) *cobra.Command {
	var runID string
	cmd := &cobra.Command{
		Use:   "plan NAME",
		Short: "Show the plan that waits, or the last one",
		Long: `Show what a plan does, object by object: the plan that waits for approval, else the last one, or that of a run.
Sensitive values are not in it. Nothing is planned anew; see "yuba replan" for that.`,
		Example: "  yuba plan vpc\n  yuba plan vpc --run 20260102-150405.000-1a2b3c4d5e\n  yuba plan vpc -o json",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().StringVar(&runID, "run", "", "the run whose plan to show")
	out := addOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		s, key, err := a.open(cmd, args[0])
		if err != nil {
			return err
		}
		t, err := s.get(cmd.Context(), key)
		if err != nil {
			return err
		}
		document, err := s.content.Plan(cmd.Context(), key.Namespace, key.Name, runID)
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
		if waitsForApproval(t) && (runID == "" || runID == t.Status.Plan.RunID) {
			s.news("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, s.call(key), t.Status.Plan.Pending)
		}
		return nil
	}
	return cmd
}
