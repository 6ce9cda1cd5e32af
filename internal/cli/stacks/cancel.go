// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// NewCancelCommand is "yuba cancel".
func NewCancelCommand(a *session.App) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "cancel NAME [RUN-ID]",
		Short: "Cancel the run of a stack",
		Long: `Cancel the run of a stack. A queued run ends at once. A run in progress gets one interrupt (SIGINT), upon which tofu finishes
its current operations and stores the state. If it has not ended after spec.runnerTerminationGracePeriodSeconds (default
30), it is killed, and resources that it was changing may exist without being in the state. With RUN-ID the command refuses
if another run is in progress by now.

The stack does not start another run automatically until the stack or its source changes; "yuba replan" starts one. To stop
all work on a stack, use "yuba suspend": it cancels a plan and lets an apply finish.`,
		Example: "  yuba cancel vpc\n  yuba cancel vpc --wait\n  yuba cancel vpc 20261122-204512.331-9f0c5e1d2b",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: a.StackAnd(openRunIDs, false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the run ends")
	ui.AddTimeoutFlag(cmd, 0, "maximum time to wait")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		return cancelRun(ctx, s, key, strings.Join(rest, ""), wait, out)
	})
	return cmd
}

func cancelRun(ctx context.Context, s *session.Session, key types.NamespacedName, id string, wait bool, out *ui.Output) error {
	rec, err := s.Content.Cancel(ctx, key.Namespace, key.Name, id)
	switch {
	case session.NoStack(err):
		return s.StackError("cancel the run of", key, err)
	case apierrors.IsNotFound(err):
		return ui.Exitf(ui.ExitNotFound, "cancel %s: %v. See:\n    yuba status %s", key, err, s.Call(key))
	case err != nil:
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	what := fmt.Sprintf("Run %s (%s) of %s", rec.Spec.ID, rec.Spec.Title(), key)
	if rec.Result == nil {
		s.News("%s is being cancelled, and killed if it has not stopped after %s. Follow it:\n    yuba logs %s -f",
			what, time.Duration(rec.Spec.Limits.Grace), s.Call(key))
	}
	if rec.Result == nil && wait {
		if rec, err = s.AwaitRun(ctx, key, rec.Spec.ID); err != nil {
			return err
		}
	}
	if rec.Result != nil {
		s.News("%s ended: %s.", what, howEnded(rec.Result))
	}
	if out.Machine() {
		return out.Print(s.Out, rec)
	}
	return nil
}

func howEnded(r *run.Result) string {
	switch {
	case r.Class != run.FailureCanceled:
		return string(r.Outcome)
	case r.ApplyStarted:
		return "canceled in the middle of its apply"
	}
	return "canceled, nothing was changed"
}
