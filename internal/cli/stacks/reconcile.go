// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// NewReplanCommand is "yuba replan".
func NewReplanCommand(a *session.App) *cobra.Command {
	return reconcileCommand(a, &cobra.Command{
		Use: "replan NAME", SuggestFor: []string{"refresh", "sync"},
		Short: "Make a fresh plan of a stack now",
		Long: `Reconcile a stack now, whatever its interval, and make a fresh plan, even if its last plan was rejected. A stack that
applies its plans automatically applies it.`,
		Example: "  yuba replan vpc\n  yuba replan vpc --wait --timeout 2m",
	}, false, verbs.Replan)
}

// NewReconcileCommand is "yuba reconcile".
func NewReconcileCommand(a *session.App) *cobra.Command {
	return reconcileCommand(a, &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Reconcile a stack now and wait for the result",
		Long: `Reconcile a stack now, whatever its interval, show the runs that follow, and wait until they end. A rejected plan
stays rejected; "yuba replan" makes another one.

The commands below reconcile sources and Kustomizations; name a stack that is called like one of them NAMESPACE/NAME.`,
		Example: "  yuba reconcile vpc\n  yuba reconcile source git infra\n  yuba reconcile kustomization apps --with-source\n  yuba reconcile vpc --timeout 5m -o json\n  yuba reconcile vpc --wait=false",
	}, true, verbs.Reconcile)
}

// reconcileCommand makes cmd request a reconciliation and show the runs that follow.
func reconcileCommand(a *session.App, cmd *cobra.Command, waits bool, change func(request string) verbs.Change) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(1, 1), a.StackNames(false)
	wait := cmd.Flags().BoolP("wait", "w", waits, "show the run and wait until it ends")
	ui.AddTimeoutFlag(cmd, 0, waitUsage)
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, before *infrav1.Terraform, _ []string) error {
		key, request, action := session.KeyOf(before), session.NewRequest(), cmd.Name()
		changed, err := s.Patch(ctx, action, key, change(request))
		switch {
		case err != nil:
			return err
		case !*wait && out.Machine():
			return s.PrintStack(changed, out)
		case !*wait:
			s.News("Reconciliation of %s requested. Follow it with:\n    yuba logs %s -f", key, s.Call(key))
			return nil
		}
		r := review{action: action, out: out, follower: followed(s, before, request, changed.Generation)}
		return r.follow(ctx)
	})
	return cmd
}

// follow shows the runs that follow from a change, and their result. It approves nothing.
func (r *review) follow(ctx context.Context) error {
	t, err := r.end(ctx)
	switch {
	case err != nil:
		return err
	case t.RefusedByPolicy(), t.AwaitsApproval() && r.problem(r.action, t) == nil:
		return r.showWaiting(ctx, t)
	}
	return r.conclude(ctx, t)
}

// showWaiting shows the plan that waits and how to approve it.
func (r *review) showWaiting(ctx context.Context, t *infrav1.Terraform) error {
	if r.out.Machine() {
		return r.PrintStack(t, r.out)
	}
	if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
		return err
	}
	if news := contractNews(t); news != "" {
		r.News("%s", news)
	}
	if news := policyNews(t); news != "" {
		r.News("%s", news)
	}
	if t.RefusedByPolicy() {
		return r.refused(t)
	}
	r.News("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, r.Call(r.key), t.Status.Plan.Pending)
	return nil
}

// refused is the error about a plan that policies refuse.
func (r *review) refused(t *infrav1.Terraform) error {
	return ui.Exitf(ui.ExitFailure, "%s %s: policies refuse plan %s. Change the program, or ask those who keep the policy for an exemption", r.action, r.key, t.Status.Plan.Pending)
}
