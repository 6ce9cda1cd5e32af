// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func newApproveCommand(a *app) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "approve NAME [PLAN-ID]",
		Short: "Approve the plan that waits, so that it is applied",
		Long: `Approve the plan that waits. Exactly that plan is applied, without planning again. With PLAN-ID the command refuses
when another plan waits by now; without it, it approves whichever plan waits, so look at it first.`,
		Example: "  yuba plan vpc && yuba approve vpc\n  yuba approve vpc plan-main-1a2b3c4d5e --wait",
		Args:    arguments(1, 2), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "show the apply and wait for its end")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, key, err := a.open(cmd, args[0])
		if err != nil {
			return err
		}
		id := ""
		if len(args) == 2 {
			id = args[1]
		}
		ctx, cancel := withTimeout(cmd.Context(), timeout)
		defer cancel()
		return s.approve(ctx, key, id, wait)
	}
	return cmd
}

func (s *session) approve(ctx context.Context, key types.NamespacedName, id string, wait bool) error {
	t, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	if id, err = s.approvable(t, id); err != nil {
		return err
	}
	approved, err := s.patch(ctx, "approve the plan of", key, approval(id))
	if err != nil {
		return err
	}
	if !wait {
		s.news("Plan %s of %s is approved and will be applied. Follow it:\n    yuba logs %s -f", id, key, s.call(key))
		return nil
	}
	s.news("Plan %s of %s is approved.", id, key)
	r := review{action: "approve", out: &output{}, follower: follower{session: s, key: key, before: lastRunOf(t), generation: approved.Generation}}
	return r.run(ctx)
}

// approvable says which plan an approval would be for, or why there can be none.
func (s *session) approvable(t *infrav1.Terraform, id string) (string, error) {
	key, pending, call := keyOf(t), t.Status.Plan.Pending, s.call(keyOf(t))
	switch {
	case pending == "":
		return "", exitf(exitNotFound, "approve %s: no plan waits for approval. See:\n    yuba status %s", key, call)
	case id != "" && id != pending:
		return "", exitf(exitError, "approve %s: plan %s does not wait (any more); plan %s does. Look at it:\n    yuba plan %s", key, id, pending, call)
	case t.Spec.PlanOnly:
		return "", exitf(exitError, "approve %s: the stack may only be planned (spec.planOnly)", key)
	case t.DriftOnly():
		return "", exitf(exitError, "approve %s: the stack only looks for drift (spec.approvePlan is \"disable\")", key)
	case t.Spec.Suspend:
		return "", exitf(exitError, "approve %s: the stack is suspended. Let it go on first:\n    yuba resume %s", key, call)
	case t.AutoApproves():
		return "", exitf(exitError, "approve %s: the stack applies its plans by itself (spec.approvePlan is \"auto\"). See:\n    yuba status %s", key, call)
	}
	return pending, nil
}

func newRejectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reject NAME [PLAN-ID]",
		Short: "Reject the plan that waits, so that it is never applied",
		Long: `Reject the plan that waits. It is not applied, also not where plans are applied without approval. A change of the
source or the stack makes a new plan, and so does "yuba replan".`,
		Example: "  yuba reject vpc\n  yuba reject vpc plan-main-1a2b3c4d5e",
		Args:    arguments(1, 2), ValidArgsFunction: a.stackNames(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, key, err := a.open(cmd, args[0])
			if err != nil {
				return err
			}
			t, err := s.get(cmd.Context(), key)
			if err != nil {
				return err
			}
			pending := t.Status.Plan.Pending
			switch {
			case pending == "":
				return exitf(exitNotFound, "reject: no plan of %s waits", key)
			case len(args) == 2 && args[1] != pending:
				return exitf(exitError, "reject: plan %s of %s does not wait (any more); plan %s does", args[1], key, pending)
			}
			change := change{}.annotate(map[string]any{infrav1.AnnotationRejected: pending})
			if _, err := s.patch(cmd.Context(), "reject the plan of", key, change); err != nil {
				return err
			}
			s.news("Plan %s of %s is rejected.", pending, key)
			return nil
		},
	}
}

func newReplanCommand(a *app) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "replan NAME",
		Short: "Look at a stack now and make a fresh plan",
		Long: `Look at a stack now, whatever its interval, and make a fresh plan; also one that takes the place of a plan that was
rejected. A stack that applies its plans by itself applies it.`,
		Example: "  yuba replan vpc\n  yuba replan vpc --wait",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "show the run and wait for its end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, key, err := a.open(cmd, args[0])
		if err != nil {
			return err
		}
		return s.replan(cmd.Context(), key, wait)
	}
	return cmd
}

func (s *session) replan(ctx context.Context, key types.NamespacedName, wait bool) error {
	before, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	request := newRequest()
	changed, err := s.patch(ctx, "replan", key, change{}.annotate(map[string]any{
		infrav1.AnnotationReconcile: request, infrav1.AnnotationRejected: nil}))
	if err != nil {
		return err
	}
	if !wait {
		s.news("A fresh plan of %s is asked for. Follow it:\n    yuba logs %s -f", key, s.call(key))
		return nil
	}
	f := follower{session: s, key: key, before: lastRunOf(before), request: request, generation: changed.Generation}
	t, err := f.begin(ctx)
	if err == nil {
		t, err = f.runs(ctx, t)
	}
	switch {
	case err != nil:
		return err
	case t == nil:
		return exitf(exitNotFound, "replan %s: the stack was deleted meanwhile", key)
	case waitsForApproval(t):
		r := review{follower: f, action: "replan", out: &output{}}
		if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
			return err
		}
		s.news("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, s.call(key), t.Status.Plan.Pending)
		return nil
	}
	return (&review{follower: f, action: "replan", out: &output{}}).conclude(ctx, t)
}
