// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// planHeading names the shown plan and its state; empty if the server does not report it.
func planHeading(t *infrav1.Terraform, s *plan.Standing, now time.Time) string {
	if s == nil {
		return ""
	}
	name := "plan"
	if s.ID != "" {
		name += " " + s.ID
	}
	if s.Revision != "" {
		name += " of revision " + shorten.Revision(s.Revision)
	}
	made := ""
	if !s.Made.IsZero() {
		made = ", made " + ui.Age(now, s.Made) + " ago"
	}
	var text string
	switch s.State {
	case plan.StatePending:
		text = "Pending " + name + made + ": it " + verbs.PendingIs(t)
	case plan.StateApproved:
		text = "Approved " + name + made + ": it is not applied yet"
	case plan.StateRejected:
		text = "Rejected " + name + made
	case plan.StateApplied:
		text = fmt.Sprintf("Applied %s, applied %s ago by run %s", name, ui.Age(now, s.ApplyEnded), s.ApplyRun)
	case plan.StateApplyFailed:
		text = fmt.Sprintf("Partly applied %s: its apply by run %s did not succeed, %s ago", name, s.ApplyRun, ui.Age(now, s.ApplyEnded))
	case plan.StateRefused:
		text = "Refused " + name + made + " by run " + s.Run + ": a webhook refused it"
	case plan.StateUnchanged:
		text = "No changes: run " + s.Run + " found no changes"
		if s.Revision != "" {
			text += " for revision " + shorten.Revision(s.Revision)
		}
		if made != "" {
			text += ", " + ui.Age(now, s.Made) + " ago"
		}
	default:
		text = "Superseded " + name + made + " by run " + s.Run + ": it was never applied"
	}
	for _, notice := range s.Notices {
		text += "\nWarning: " + notice
	}
	return diagnostic.Printable(text)
}

// noPlan explains why there is no plan; nil if the object does not show why.
func noPlan(ctx context.Context, s *session.Session, t *infrav1.Terraform, err error) error {
	key, call, ready := session.KeyOf(t), s.Call(session.KeyOf(t)), session.ConditionOf(t, infrav1.ConditionReady)
	if !apierrors.IsNotFound(err) || ctx.Err() != nil {
		return nil
	}
	switch r := t.Status.LastRun; {
	case r != nil && session.Failed(r) && ready.Reason != infrav1.ReasonApplyFailed:
		return ui.Exitf(ui.ExitNotFound, "show the plan of %s: there is none, because run %s %s:\n%s\nIts log says more:\n    yuba logs %s --run %s",
			key, r.ID, r.Status, strings.TrimSpace(ready.Message), call, r.ID)
	case t.Status.CurrentRun != nil:
		return ui.Exitf(ui.ExitNotFound, "show the plan of %s: there is none yet. Run %s is %s. Follow it:\n    yuba logs %s -f",
			key, t.Status.CurrentRun.ID, t.Status.CurrentRun.Status, call)
	case r == nil:
		return ui.Exitf(ui.ExitNotFound, "show the plan of %s: there is none yet. See what the stack waits for:\n    yuba status %s", key, call)
	case t.AppliesByItself():
		return ui.Exitf(ui.ExitNotFound, "show the plan of %s: there is none. Yuba keeps the plans that wait for approval, and this stack applies its plans automatically. "+
			"See what was planned and applied:\n    yuba logs %s", key, call)
	}
	return nil
}
