// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// NewRunsCommand is "yuba runs".
func NewRunsCommand(a *session.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "runs NAME", SuggestFor: []string{"history"},
		Short:   "List the runs of a stack",
		Long:    "List the runs of a stack, newest first: the operation, the reason and the outcome of each. With -o wide also the tool.",
		Example: "  yuba runs vpc\n  yuba runs vpc --limit 100 -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number of runs to list")
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return ui.UsageErrorf(cmd, "--limit %d: want a number above 0", limit)
		}
		return nil
	}
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		list, err := s.Content.Runs(ctx, key.Namespace, key.Name, limit)
		if err != nil {
			return s.StackError("list the runs of", key, err)
		}
		l := &listing.List{Answer: list, None: "No runs yet.", Rows: [][]string{{"RUN", "OPERATION", "OUTCOME", "CHANGES", "AGE", "TOOK", "TOOL", "WHY"}}, Wide: []string{"TOOL"}}
		for _, r := range list.Items {
			l.Add(r.Spec.ID, runRow(r, time.Now())...)
		}
		return l.Show(s.Console, out)
	})
	return cmd
}

func runRow(r run.Record, now time.Time) []string {
	outcome, changes, took, tool := "waiting", "", "", ""
	if r.Started != nil {
		outcome = "running"
	}
	if result := r.Result; result != nil {
		outcome, tool = string(result.Outcome), strings.TrimSpace(result.ToolName+" "+result.ToolVersion)
		switch {
		case result.AppliedCounts != nil:
			changes = counts(*result.AppliedCounts)
		case result.Plan != nil:
			changes = counts(result.Plan.Counts)
		}
		if r.Started != nil {
			took = result.Finished.Sub(*r.Started).Round(10 * time.Millisecond).String()
		}
	}
	why := r.Trigger
	if r.Passes > 1 {
		why = fmt.Sprintf("%s (%d times)", why, r.Passes)
	}
	return []string{r.Spec.ID, r.Spec.Title(), outcome, changes, ui.Age(now, r.Created), took, tool, why}
}

func counts(c run.Counts) string {
	return plan.Counts{Add: c.Add, Change: c.Change, Destroy: c.Destroy}.Summary()
}
