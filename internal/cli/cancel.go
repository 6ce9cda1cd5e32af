// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func newCancelCommand(a *app) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "cancel NAME [RUN-ID]",
		Short: "Cancel the run of a stack",
		Long: `Cancel the run of a stack. A run that waits for its turn is over at once. A run that is carried out gets one interrupt
(SIGINT), upon which tofu finishes what it has begun and stores the state. If it has not ended after
spec.runnerTerminationGracePeriodSeconds (default 30), it is killed, and what it was doing may exist without being in the
state. With RUN-ID the command refuses when another run is at work by now.

The stack starts no other run by itself until the stack or its source changes; "yuba replan" starts one. To stop all work
on a stack, use "yuba suspend": it cancels a plan and lets an apply finish.`,
		Example: "  yuba cancel vpc\n  yuba cancel vpc --wait\n  yuba cancel vpc 20261122-204512.331-9f0c5e1d2b",
		Args:    arguments(1, 2), ValidArgsFunction: a.stackAnd(openRunIDs, false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the run's end")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most")
	out := addOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, rest []string) error {
		id := ""
		if len(rest) == 1 {
			id = rest[0]
		}
		ctx, cancel := withTimeout(ctx, timeout)
		defer cancel()
		return s.cancel(ctx, key, id, wait, out)
	})
	return cmd
}

func (s *session) cancel(ctx context.Context, key types.NamespacedName, id string, wait bool, out *output) error {
	rec, err := s.content.Cancel(ctx, key.Namespace, key.Name, id)
	if noStack(err) {
		return s.stackError("cancel the run of", key, err)
	}
	if apierrors.IsNotFound(err) {
		return exitf(exitNotFound, "cancel %s: %v. See:\n    yuba status %s", key, err, s.call(key))
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	what := fmt.Sprintf("Run %s (%s) of %s", rec.Spec.ID, rec.Spec.Title(), key)
	if rec.Result == nil {
		s.news("%s is asked to stop, and killed if it has not stopped after %s. Follow it:\n    yuba logs %s -f",
			what, time.Duration(rec.Spec.Limits.Grace), s.call(key))
	}
	if rec.Result == nil && wait {
		if rec, err = s.awaitEnd(ctx, key, rec); err != nil {
			return err
		}
	}
	if rec.Result != nil {
		s.news("%s is over: %s.", what, howEnded(rec.Result))
	}
	if out.machine() {
		return out.print(s.out, rec)
	}
	return nil
}

// awaitEnd waits for the end of the run, which is where its log ends, and returns its record.
func (s *session) awaitEnd(ctx context.Context, key types.NamespacedName, rec run.Record) (run.Record, error) {
	log := &logReader{session: s, stack: key, options: content.LogOptions{Run: rec.Spec.ID, Follow: true}, line: func([]byte) error { return nil }}
	if err := log.run(ctx); err != nil {
		return rec, err
	}
	return s.content.Run(ctx, key.Namespace, key.Name, rec.Spec.ID)
}

// howEnded says how a run ended that was to stop.
func howEnded(r *run.Result) string {
	switch {
	case r.Class != run.FailureCanceled:
		return string(r.Outcome)
	case r.ApplyStarted:
		return "canceled in the middle of its apply"
	}
	return "canceled, nothing was changed"
}
