// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func newStatusCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status NAME", SuggestFor: []string{"describe", "inspect"},
		Short:   "Tell how a stack stands and what to do next",
		Long:    "Tell how a stack stands: whether it is ready and why not, its plan, its runs, its source, warnings, and what to do next.",
		Example: "  yuba status vpc\n  yuba status team-a/vpc -o yaml",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		t, err := s.get(ctx, key)
		if err != nil {
			return err
		}
		return s.showStatus(ctx, t, out)
	})
	return cmd
}

func (s *session) showStatus(ctx context.Context, t *infrav1.Terraform, out *output) error {
	switch {
	case out.form == "name":
		fmt.Fprintln(s.out, objectName(t))
		return nil
	case out.machine():
		return out.print(s.out, t)
	}
	v := statusView{w: s.out, t: t, now: time.Now(), call: s.call(keyOf(t)), paint: func(color, text string) string { return s.paint(s.out, color, text) }}
	v.tool, v.origin = s.toolOf(ctx, t), s.originOf(ctx, t, v.now)
	v.show()
	return nil
}

// toolOf says what the stack's last run was carried out with, when its record can be had.
func (s *session) toolOf(ctx context.Context, t *infrav1.Terraform) string {
	if t.Status.LastRun == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	rec, err := s.content.Run(ctx, t.Namespace, t.Name, t.Status.LastRun.ID)
	if err != nil || rec.Result == nil {
		return ""
	}
	return strings.TrimSpace(rec.Result.ToolName + " " + rec.Result.ToolVersion)
}

func keyOf(t *infrav1.Terraform) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}

// statusView writes one screen about one stack.
type statusView struct {
	w     io.Writer
	t     *infrav1.Terraform
	now   time.Time
	call  string
	paint func(color, text string) string
	// tool is what the last run was carried out with; empty when unknown.
	tool string
	// origin is where the stack comes from, as far as that is known.
	origin origin
}

func (v *statusView) line(label, format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if text == "" {
		return
	}
	fmt.Fprintf(v.w, "%-*s%s\n", labelWidth, label, indented(text))
}

// indented puts what has several lines below the first, in the same column.
func indented(text string) string {
	text = strings.ReplaceAll(diagnostic.Printable(text), "\n", "\n"+strings.Repeat(" ", labelWidth))
	return strings.ReplaceAll(text, "\n"+strings.Repeat(" ", labelWidth)+"\n", "\n\n")
}

const labelWidth = 12

func (v *statusView) show() {
	t := v.t
	v.line("Stack", "%s/%s", t.Namespace, t.Name)
	v.ready()
	v.plan()
	v.runs()
	v.line("Tool", "%s", v.tool)
	v.source()
	v.line("Outputs", "%s", strings.Join(t.Status.AvailableOutputs, ", "))
	if from := t.Status.TakenOver; from != nil {
		v.line("State", "taken over from %s, deleted%s; its own once a plan is approved or finds nothing to change", formerName(t, from), deletedAt(from))
	}
	if lock := t.Status.Lock.Pending; lock != "" {
		v.line("Lock", "held by somebody else, lock id %s", lock)
	}
	v.unproven()
	for _, warning := range t.Status.Warnings {
		fmt.Fprintf(v.w, "%s%s\n", v.paint(colorYellow, fmt.Sprintf("%-*s", labelWidth, "Warning")), diagnostic.Printable(warning))
	}
	if steps := nextSteps(t, v.call); len(steps) > 0 {
		fmt.Fprintf(v.w, "\nNext:\n    %s\n", strings.Join(steps, "\n    "))
	}
}

func (v *statusView) ready() {
	c := conditionOf(v.t, infrav1.ConditionReady)
	word, color := "not yet", colorYellow
	switch c.Status {
	case metav1.ConditionTrue:
		word, color = "yes", colorGreen
	case metav1.ConditionFalse:
		if c.Reason != infrav1.ReasonDependencyNotReady { // nothing is wrong with this one
			word, color = "no", colorRed
		}
	}
	since := ""
	if !c.LastTransitionTime.IsZero() {
		since = ", since " + age(v.now, c.LastTransitionTime.Time)
	}
	fmt.Fprintf(v.w, "%-*s%s%s\n", labelWidth, "Ready", v.paint(color, word), since)
	v.line("", "%s", stateInWords(v.t))
	if waits := conditionOf(v.t, infrav1.ConditionReconciling); waits.Reason == infrav1.ReasonDependencyNotReady {
		v.line("", "%s", waits.Message)
	}
	if paused := conditionOf(v.t, infrav1.ConditionPaused); paused.Status == metav1.ConditionTrue {
		v.line("", "%s", paused.Message)
	}
	if stalled := conditionOf(v.t, infrav1.ConditionStalled); stalled.Message != c.Message {
		v.line("", "%s", stalled.Message)
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
		v.line("Plan", "%s %s: %s%s%s", p.Pending, pendingIs(v.t), p.Summary, kind, v.ago(v.t.Status.LastPlanAt))
	case p.LastApplied != "":
		v.line("Plan", "none waits; %s was applied last", p.LastApplied)
	case v.t.Status.LastPlannedRevision != "":
		v.line("Plan", "none waits")
	}
}

func (v *statusView) ago(at *metav1.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", " + age(v.now, at.Time) + " ago"
}

func (v *statusView) runs() {
	if r := v.t.Status.CurrentRun; r != nil {
		started := ""
		if !r.StartedAt.IsZero() {
			started = " since " + age(v.now, r.StartedAt.Time)
		}
		v.line("Run", "%s (%s) is %s%s", r.ID, r.Operation, r.Status, started)
	}
	if r := v.t.Status.LastFailedApply; r != nil {
		v.line("Last apply", "%s%s; see yuba logs %s --run %s", r.Status, v.ago(r.FinishedAt), v.call, r.ID)
	}
	if r := v.t.Status.LastRun; r != nil {
		v.line("Last run", "%s (%s) %s%s", r.ID, r.Operation, r.Status, v.ago(r.FinishedAt))
	}
}

func (v *statusView) source() {
	t := v.t
	switch _, inline := t.InlineProgram(); {
	case inline:
		v.line("Source", "inline")
	case t.Spec.SourceRef != nil:
		path := ""
		if t.Spec.Path != "" {
			path = ", directory " + t.Spec.Path
		}
		v.line("Source", "%s%s", t.Spec.SourceRef, path)
	}
	if v.origin.source != "" {
		fmt.Fprintf(v.w, "%-*s%s\n", labelWidth, "", v.paint(colorRed, indented(v.origin.source)))
	}
	v.line("Applied by", "%s", v.origin.applied)
	if t.Status.LastAttemptedRevision != "" {
		applied := "never applied"
		switch {
		case t.Status.LastAppliedRevision == t.Status.LastAttemptedRevision:
			applied = "applied"
		case t.Status.LastAppliedRevision != "":
			applied = "applied is " + shortRevision(t.Status.LastAppliedRevision)
		}
		v.line("Revision", "%s (%s)", shortRevision(t.Status.LastAttemptedRevision), applied)
	}
	if w := t.WorkspaceName(); w != infrav1.DefaultWorkspace {
		v.line("Workspace", "%s", w)
	}
}
