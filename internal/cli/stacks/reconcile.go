// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewReplanCommand is "yuba replan".
func NewReplanCommand(a *session.App) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "replan NAME", SuggestFor: []string{"refresh", "sync"},
		Short: "Make a fresh plan of a stack now",
		Long: `Reconcile a stack now, whatever its interval, and make a fresh plan, even if its last plan was rejected. A stack that
applies its plans automatically applies it.`,
		Example: "  yuba replan vpc\n  yuba replan vpc --wait --timeout 2m",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "show the run and wait until it ends")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "maximum time to wait; the run continues after that")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(out, func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		ctx, cancel := ui.WithTimeout(ctx, timeout)
		defer cancel()
		r := review{action: "replan", out: out}
		return lookAgain(ctx, s, key, map[string]any{infrav1.AnnotationRejected: nil}, r, wait)
	})
	return cmd
}

// NewReconcileCommand is "yuba reconcile".
func NewReconcileCommand(a *session.App) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Reconcile a stack now and wait for the result",
		Long: `Reconcile a stack now, whatever its interval, show the runs that follow, and wait until they end. A rejected plan
stays rejected; "yuba replan" makes another one.

The commands below reconcile sources and Kustomizations; name a stack that is called like one of them NAMESPACE/NAME.`,
		Example: "  yuba reconcile vpc\n  yuba reconcile source git infra\n  yuba reconcile kustomization apps --with-source\n  yuba reconcile vpc --timeout 5m -o json\n  yuba reconcile vpc --wait=false",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", true, "show the run and wait until it ends")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "maximum time to wait; the run continues after that")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(out, func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		ctx, cancel := ui.WithTimeout(ctx, timeout)
		defer cancel()
		return lookAgain(ctx, s, key, map[string]any{}, review{action: "reconcile", out: out}, wait)
	})
	return cmd
}

// lookAgain asks for a pass at once, and shows what comes of it. The annotations are set besides.
func lookAgain(ctx context.Context, s *session.Session, key types.NamespacedName, annotations map[string]any, r review, wait bool) error {
	before, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	request := session.NewRequest()
	annotations[infrav1.AnnotationReconcile] = request
	changed, err := s.Patch(ctx, r.action, key, session.Change{}.Annotate(annotations))
	if err != nil {
		return err
	}
	switch {
	case !wait && r.out.Machine():
		return s.PrintStack(changed, r.out)
	case !wait:
		s.News("Reconciliation of %s requested. Follow it with:\n    yuba logs %s -f", key, s.Call(key))
		return nil
	}
	r.follower = follower{Session: s, key: key, before: lastRunOf(before), request: request, generation: changed.Generation}
	return r.follow(ctx)
}

// follow shows what is run because of a change, and what came of it. It approves nothing.
func (r *review) follow(ctx context.Context) error {
	t, err := r.begin(ctx)
	if err == nil {
		t, err = r.runs(ctx, t)
	}
	switch {
	case err != nil:
		return err
	case t == nil:
		return ui.Exitf(ui.ExitNotFound, "%s %s: the stack was deleted meanwhile", r.action, r.key)
	case t.AwaitsApproval() && r.problem(r.action, t) == nil:
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
	r.News("\nPlan %s waits for approval. Approve it:\n    yuba approve %s %s", t.Status.Plan.Pending, r.Call(r.key), t.Status.Plan.Pending)
	return nil
}
