// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func newRunsCommand(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "runs NAME", SuggestFor: []string{"history"},
		Short:   "List the runs of a stack",
		Long:    "List the runs of a stack, newest first: what each did, why, and what came of it. With -o wide also by which tool.",
		Example: "  yuba runs vpc\n  yuba runs vpc --limit 100 -o json",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "how many runs to list")
	out := addTableFlag(cmd, "json", "yaml", "name")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return usageErrorf(cmd, "--limit %d: want a number above 0", limit)
		}
		return nil
	}
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		list, err := s.content.Runs(ctx, key.Namespace, key.Name, limit)
		if err != nil {
			return s.stackError("list the runs of", key, err)
		}
		return s.showRuns(list, out)
	})
	return cmd
}

func (s *session) showRuns(list content.RunList, out *output) error {
	switch {
	case out.form == "name":
		for _, r := range list.Items {
			fmt.Fprintln(s.out, r.Spec.ID)
		}
		return nil
	case out.machine():
		return out.print(s.out, list)
	case len(list.Items) == 0:
		s.news("There has been no run yet.")
		return nil
	}
	rows := [][]string{{"RUN", "OPERATION", "OUTCOME", "CHANGES", "AGE", "TOOK", "TOOL", "WHY"}}
	for _, r := range list.Items {
		rows = append(rows, runRow(r, time.Now()))
	}
	return s.table(rows, out, runsWide...)
}

// runsWide are the columns of runs that only -o wide shows.
var runsWide = []string{"TOOL"}

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
	return []string{r.Spec.ID, r.Spec.Title(), outcome, changes, age(now, r.Created), took, tool, why}
}

func counts(c run.Counts) string {
	return plan.Counts{Add: c.Add, Change: c.Change, Destroy: c.Destroy}.Summary()
}
