// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// NewStatusCommand is "yuba status".
func NewStatusCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status NAME", SuggestFor: []string{"describe", "inspect"},
		Short:   "Show the status of a stack and the next step",
		Long:    "Show the status of a stack: whether it is ready and why not, its plan, its runs, its source, warnings, and the next step.",
		Example: "  yuba status vpc\n  yuba status team-a/vpc -o yaml",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		return showStatus(ctx, s, t, out)
	})
	return cmd
}

func showStatus(ctx context.Context, s *session.Session, t *infrav1.Terraform, out *ui.Output) error {
	if out.Machine() {
		return s.PrintStack(t, out)
	}
	v := statusView{Labels: ui.Labels{Writer: s.Out, Now: time.Now()}, t: t, call: s.Call(session.KeyOf(t)), paint: func(color, text string) string { return s.Paint(s.Out, color, text) }}
	v.tool, v.origin = toolOf(ctx, s, t), originOf(ctx, s, t, v.Now)
	v.show()
	return nil
}

// toolOf is the tool of the stack's last run, if its record can be read.
func toolOf(ctx context.Context, s *session.Session, t *infrav1.Terraform) string {
	if t.Status.LastRun == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, session.ServerPatience)
	defer cancel()
	rec, err := s.Content.Run(ctx, t.Namespace, t.Name, t.Status.LastRun.ID)
	if err != nil || rec.Result == nil {
		return ""
	}
	return strings.TrimSpace(rec.Result.ToolName + " " + rec.Result.ToolVersion)
}

type statusView struct {
	ui.Labels
	t     *infrav1.Terraform
	call  string
	paint func(color, text string) string
	// tool is the tool of the last run; empty if unknown.
	tool string
	// origin is where the stack comes from, if known.
	origin origin
}

func (v *statusView) show() {
	t := v.t
	v.Line("Stack", "%s/%s", t.Namespace, t.Name)
	v.ready()
	v.plan()
	v.runs()
	v.Line("Tool", "%s", v.tool)
	v.source()
	v.Line("Outputs", "%s", strings.Join(t.Status.AvailableOutputs, ", "))
	if from := t.Status.TakenOver; from != nil {
		v.Line("State", "that of %s, deleted%s; this stack owns it after a plan is approved or finds no changes", session.FormerName(t, from), session.DeletedAt(from))
	}
	if lock := t.Status.Lock.Pending; lock != "" {
		v.Line("Lock", "held by another process, lock id %s", lock)
	}
	v.unproven()
	for _, warning := range t.Status.Warnings {
		fmt.Fprintf(v, "%s%s\n", v.paint(ui.ColorYellow, fmt.Sprintf("%-*s", ui.LabelWidth, "Warning")), diagnostic.Printable(warning))
	}
	if steps := verbs.NextSteps(t, v.call); len(steps) > 0 {
		fmt.Fprintf(v, "\nNext:\n    %s\n", strings.Join(steps, "\n    "))
	}
}

func (v *statusView) ready() {
	c := session.ConditionOf(v.t, infrav1.ConditionReady)
	word, color := "not yet", ui.ColorYellow
	switch c.Status {
	case metav1.ConditionTrue:
		word, color = "yes", ui.ColorGreen
	case metav1.ConditionFalse:
		if c.Reason != infrav1.ReasonDependencyNotReady { // not a failure
			word, color = "no", ui.ColorRed
		}
	}
	since := ""
	if !c.LastTransitionTime.IsZero() {
		since = ", since " + ui.Age(v.Now, c.LastTransitionTime.Time)
	}
	fmt.Fprintf(v, "%-*s%s%s\n", ui.LabelWidth, "Ready", v.paint(color, word), since)
	v.Line("", "%s", session.StateInWords(v.t))
	if waits := session.ConditionOf(v.t, infrav1.ConditionReconciling); waits.Reason == infrav1.ReasonDependencyNotReady {
		v.Line("", "%s", waits.Message)
	}
	if paused := session.ConditionOf(v.t, infrav1.ConditionPaused); paused.Status == metav1.ConditionTrue {
		v.Line("", "%s", paused.Message)
	}
	if stalled := session.ConditionOf(v.t, infrav1.ConditionStalled); stalled.Message != c.Message {
		v.Line("", "%s", stalled.Message)
	}
}

func (v *statusView) plan() {
	p := v.t.Status.Plan
	kind := ""
	switch {
	case p.IsDestroyPlan:
		kind = ", destroys everything"
	case p.IsDriftDetectionPlan:
		kind = ", repairs drift"
	}
	switch {
	case p.Pending != "":
		v.Line("Plan", "%s %s: %s%s%s", p.Pending, verbs.PendingIs(v.t), p.Summary, kind, v.ago(v.t.Status.LastPlanAt))
	case p.LastApplied != "":
		v.Line("Plan", "none pending; %s was applied last", p.LastApplied)
	case v.t.Status.LastPlannedRevision != "":
		v.Line("Plan", "none pending")
	}
}

// ago says how long ago something was; nothing for nil.
func (v *statusView) ago(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return v.Ago(&at.Time)
}

func (v *statusView) runs() {
	if r := v.t.Status.CurrentRun; r != nil {
		started := ""
		if !r.StartedAt.IsZero() {
			started = " since " + ui.Age(v.Now, r.StartedAt.Time)
		}
		v.Line("Run", "%s (%s) is %s%s", r.ID, r.Operation, r.Status, started)
	}
	if r := v.t.Status.LastFailedApply; r != nil {
		v.Line("Last apply", "%s%s; see yuba logs %s --run %s", r.Status, v.ago(r.FinishedAt), v.call, r.ID)
	}
	if r := v.t.Status.LastRun; r != nil {
		v.Line("Last run", "%s (%s) %s%s", r.ID, r.Operation, r.Status, v.ago(r.FinishedAt))
	}
}

func (v *statusView) source() {
	t := v.t
	switch _, inline := t.InlineProgram(); {
	case inline:
		v.Line("Source", "inline")
	case t.Spec.SourceRef != nil:
		path := ""
		if t.Spec.Path != "" {
			path = ", directory " + t.Spec.Path
		}
		v.Line("Source", "%s%s", t.Spec.SourceRef, path)
	}
	if h := t.PullRequestHold(); h != nil {
		v.Line("Pull request", "%s", ui.OneLine(strings.TrimSpace(h.String()+" "+h.URL)))
	}
	if v.origin.source != "" {
		fmt.Fprintf(v, "%-*s%s\n", ui.LabelWidth, "", v.paint(ui.ColorRed, ui.Indented(v.origin.source)))
	}
	v.Line("Applied by", "%s", v.origin.applied)
	if t.Status.LastAttemptedRevision != "" {
		applied := "never applied"
		switch {
		case t.Status.LastAppliedRevision == t.Status.LastAttemptedRevision:
			applied = "applied"
		case t.Status.LastAppliedRevision != "":
			applied = "last applied " + shorten.Revision(t.Status.LastAppliedRevision)
		}
		v.Line("Revision", "%s (%s)", shorten.Revision(t.Status.LastAttemptedRevision), applied)
	}
	if w := t.WorkspaceName(); w != infrav1.DefaultWorkspace {
		v.Line("Workspace", "%s", w)
	}
}
