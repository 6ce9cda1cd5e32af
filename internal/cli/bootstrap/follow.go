// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// followFlags are the flags of commands that follow a platform.
type followFlags struct {
	yes      bool
	attempts int64
}

func (f *followFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve each plan, and removals, without asking")
	cmd.Flags().Int64Var(&f.attempts, "attempts", 3, "how many attempts of a phase may fail in a row before the command gives up; 0 for any number")
	ui.AddTimeoutFlag(cmd, 0, "maximum time to wait")
}

// follower shows a platform until it is ready or needs a person.
type follower struct {
	*session.Session
	key   types.NamespacedName
	flags followFlags
	view  *view
	last  yubav1.Platform
	// approved are the plans that were approved; the status may still name them.
	approved map[string]bool
	// request is the reconcile request of this command; asked is true once the server has handled it.
	request string
	asked   bool
	// earlier are the failures of each phase before this command.
	earlier map[string]int64
}

// follow shows a platform until it is ready, or decommissioned if that is wanted.
func (g *group) follow(ctx context.Context, s *session.Session, r *running, key types.NamespacedName, flags followFlags, out *ui.Output) error {
	f := &follower{Session: s, key: key, flags: flags, view: newView(s.Console, out), approved: map[string]bool{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.ended != nil {
		go func() {
			select {
			case err := <-r.ended:
				cancel(fmt.Errorf("the server ended: %w", err))
			case <-ctx.Done():
			}
		}()
	}
	// What the status says was perhaps true before this command: before the server started, or before a Secret existed.
	f.request = verbs.NewRequest(now())
	_, err := s.PatchObject(ctx, "follow", session.Platforms, key, session.Change{}.Annotate(map[string]any{infrav1.AnnotationReconcile: f.request}))
	if err == nil {
		err = f.run(ctx)
	}
	f.view.end(&f.last)
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code := ui.ExitInterrupted
		if errors.Is(err, context.DeadlineExceeded) {
			code = ui.ExitWaiting
		}
		return ui.Exitf(code, "The platform is not ready yet (%s). Runs that have begun finish. Go on:\n    yuba bootstrap resume %s --home %s", f.last.Status.Progress, key.Name, g.DataDirectory())
	}
	return err
}

func (f *follower) run(ctx context.Context) error {
	for {
		o, err := f.AwaitObject(ctx, session.Platforms, f.key, func(o *session.Object) bool {
			var p yubav1.Platform
			if o.As(&p) != nil {
				return false
			}
			f.last = p
			if p.Status.ObservedGeneration < p.Generation || !f.asked && p.Status.LastHandledReconcileAt != f.request {
				return false
			}
			f.asked = true // somebody else may ask, too
			f.view.show(&p)
			f.count()
			return f.over() || f.pending() != nil && (f.flags.yes || f.Interactive() && !f.view.machine)
		})
		switch {
		case err != nil:
			return err
		case o == nil:
			if f.last.Spec.Decommission {
				return nil
			}
			return ui.Exitf(ui.ExitNotFound, "the platform %s was deleted meanwhile; its stacks stay", f.key.Name)
		case f.over():
			return f.result()
		}
		if err := f.approve(ctx, f.pending()); err != nil {
			return err
		}
	}
}

// over reports whether there is nothing to wait for.
func (f *follower) over() bool {
	ready := conditions.Of(&f.last, infrav1.ConditionReady)
	switch ready.Reason {
	case yubav1.ReasonPlatformReady, yubav1.ReasonPlatformDecommissioned, yubav1.ReasonPlatformInvalid, yubav1.ReasonPlatformDomainTaken,
		yubav1.ReasonPlatformNameTaken, yubav1.ReasonPlatformCredentials, yubav1.ReasonPlatformSuspended, yubav1.ReasonPlatformMoved, yubav1.ReasonPlatformAway:
		return true
	}
	return f.hopeless() != nil
}

// count remembers the failures that this command did not see. A success ends them.
func (f *follower) count() {
	first := f.earlier == nil
	if first {
		f.earlier = map[string]int64{}
	}
	for _, p := range f.last.Status.Phases {
		if first || p.Failures < f.earlier[p.Name] {
			f.earlier[p.Name] = p.Failures
		}
	}
}

// hopeless is a phase that failed too often since the command began.
func (f *follower) hopeless() *yubav1.PlatformPhaseStatus {
	for i, p := range f.last.Status.Phases {
		if p.State == yubav1.PhaseFailed && f.flags.attempts > 0 && p.Failures-f.earlier[p.Name] >= f.flags.attempts {
			return &f.last.Status.Phases[i]
		}
	}
	return nil
}

// result is the end of the command.
func (f *follower) result() error {
	ready := conditions.Of(&f.last, infrav1.ConditionReady)
	if p := f.hopeless(); p != nil {
		return ui.Exitf(ui.ExitRunFailed, "%s has failed %d times: %s\nYuba retries for as long as a server runs. See its log, or try again:\n    yuba bootstrap logs %s %s\n    yuba bootstrap resume %s", p.Name, p.Failures, p.Message, f.key.Name, p.Name, f.key.Name)
	}
	switch {
	case ready.Status == metav1.ConditionTrue, ready.Reason == yubav1.ReasonPlatformDecommissioned:
		return nil
	case ready.Reason == yubav1.ReasonPlatformSuspended:
		return ui.Exitf(ui.ExitWaiting, "%s. Go on:\n    yuba bootstrap resume %s", strings.TrimRight(ready.Message, "."), f.key.Name)
	case ready.Reason == yubav1.ReasonPlatformMoved, ready.Reason == yubav1.ReasonPlatformAway:
		// Another owner makes the platform, or a part of it: there is nothing to wait for, and nothing was done here.
		return ui.Exitf(ui.ExitRefused, "%s", ready.Message)
	}
	return ui.Exitf(ui.ExitFailure, "%s", ready.Message)
}

// pending is the next phase whose plan waits for approval.
func (f *follower) pending() *yubav1.PlatformPhaseStatus {
	for i, p := range f.last.Status.Phases {
		if p.State == yubav1.PhaseAwaitingApproval && p.Plan != "" && !f.approved[p.Stack+" "+p.Plan] {
			return &f.last.Status.Phases[i]
		}
	}
	return nil
}

// approve shows a plan, asks, and approves it.
func (f *follower) approve(ctx context.Context, p *yubav1.PlatformPhaseStatus) error {
	key := types.NamespacedName{Namespace: f.key.Namespace, Name: p.Stack}
	t, err := f.Get(ctx, key)
	if err != nil {
		return err
	}
	f.approved[p.Stack+" "+p.Plan] = true
	if t.Status.Plan.Pending != p.Plan || !t.AwaitsApproval() {
		return nil // the next status says more
	}
	// --yes does not approve changes to the state that a deleted stack left behind.
	if !f.flags.yes || t.Status.TakenOver != nil {
		if !f.Interactive() {
			return ui.Exitf(ui.ExitWaiting, "the plan %s of %s waits for a person:\n    yuba plan %s\n    yuba approve %s", p.Plan, p.Name, p.Stack, p.Stack)
		}
		text, err := f.Content.Plan(ctx, key.Namespace, key.Name, t.Status.Plan.RunID)
		if err != nil {
			return fmt.Errorf("read the plan of %s: %w", p.Name, err)
		}
		readable, err := plan.Decode(text)
		if err != nil {
			return fmt.Errorf("read the plan of %s: %w", p.Name, err)
		}
		f.view.pause()
		fmt.Fprintln(f.Err, "\n"+strings.TrimRight(plan.Render(readable, plan.RenderOptions{Color: f.Colors(f.Err)}), "\n"))
		if err := f.Confirm(fmt.Sprintf("Apply this plan of %s?", p.Name)); err != nil {
			return err
		}
	}
	if t.NeedsRecordedApprovals() { // by people whom a policy names
		f.News("The plan of %s needs recorded approvals: %s\n    yuba approve %s", p.Name, t.Status.Plan.Pending, p.Stack)
		return nil
	}
	change, _ := verbs.Approve(t, p.Plan, time.Now())
	if _, err := f.Patch(ctx, "approve", key, change); err != nil {
		return err
	}
	return nil
}
