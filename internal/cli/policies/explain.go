// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/judge"
)

func newExplainCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain STACK", Aliases: []string{"why"},
		Short: "Explain which policies bind a stack, and what they make of its plan",
		Long: `Explain which policies select a stack, and what they make of its pending plan or, without one, of its last stored plan: all findings, those
that exemptions take out, those of policies in audit mode, and when the decision ends. The server judges the plan again, now; it changes
nothing.`,
		Example: "  yuba policy explain vpc\n  yuba policy explain team-a/vpc --run 20261127-1\n  yuba policy explain vpc -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	id := addRunFlag(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		raw, err := s.Content.Verdict(ctx, key.Namespace, key.Name, *id)
		if err != nil {
			return planError(s, "explain the policies of", key, *id, err)
		}
		var standing judge.Standing
		if err := json.Unmarshal(raw, &standing); err != nil {
			return fmt.Errorf("read the server's response: %w", err)
		}
		if out.Machine() {
			return out.Print(s.Out, standing)
		}
		showStanding(s, &standing, s.Call(key), time.Now())
		return nil
	})
	return cmd
}

// addRunFlag adds the flag that names the run of a plan.
func addRunFlag(cmd *cobra.Command) *string {
	id := cmd.Flags().String("run", "", "the run that made the plan (default the pending plan, else the last one that is stored)")
	ui.CompleteFlag(cmd, "run", ui.NoNames)
	return id
}

type standingView struct {
	ui.Labels
	standing *judge.Standing
}

func showStanding(s *session.Session, standing *judge.Standing, call string, now time.Time) {
	v := standingView{ui.Labels{Writer: s.Out, Now: now}, standing}
	v.Line("Stack", "%s/%s", standing.Namespace, standing.Name)
	v.bound()
	if standing.Decision == nil {
		v.Line("Plan", "none to judge: %s", standing.NoPlan)
		return
	}
	d := standing.Decision
	state := "not pending"
	if standing.Pending {
		state = "pending"
	}
	v.Line("Plan", "of run %s, %s", standing.Run, state)
	v.Line("Decision", "%s: %s", judge.Opinion(*d), d.Message)
	if standing.Pending {
		v.Line("", "%s", v.outcome())
	}
	if d.WaitsFor != "" {
		v.Line("Waits for", "%s", d.WaitsFor)
	}
	v.Line("Freed by", "%s", strings.Join(d.FreedBy, "\n"))
	v.violations("Findings", d.Violations)
	v.exempted(d.Exempted)
	v.violations("Audited", d.Audited)
	for label, at := range map[string]time.Time{"Valid until": d.ValidUntil, "Next chance": d.RetryAt} {
		if !at.IsZero() {
			v.Line(label, "%s", at.Local().Format("2006-01-02 15:04:05"))
		}
	}
	if next := v.next(call); next != "" {
		s.News("%s", next)
	}
}

func (v *standingView) bound() {
	var lines []string
	for _, p := range v.standing.Policies {
		text := p.Name + ": " + p.OnViolation
		if p.AutoApprove {
			text += ", frees plans without findings"
		}
		if p.Enforcement == "audit" {
			text += "; in audit mode, so it changes nothing"
		}
		lines = append(lines, text+"\n  rules: "+strings.Join(p.Rules, ", "))
		for _, problem := range p.Problems {
			lines = append(lines, "  problem: "+problem)
		}
	}
	if len(lines) == 0 {
		lines = []string{"none selects the stack"}
	}
	v.Line("Policies", "%s", strings.Join(lines, "\n"))
}

// outcome says what happens to the plan.
func (v *standingView) outcome() string {
	switch v.standing.Outcome {
	case content.TrialApplies:
		return "the plan is applied without a person"
	case content.TrialRefused:
		return "the plan is not applied, whoever approves it"
	case content.TrialNever:
		return "the stack applies no plans"
	}
	if v.standing.ApprovePlan != "policy" && judge.Opinion(*v.standing.Decision) == judge.Freed {
		return fmt.Sprintf("the plan waits for a person nevertheless: approvePlan is %q, and policies free plans only of stacks with \"policy\"", v.standing.ApprovePlan)
	}
	return "the plan waits for a person"
}

func (v *standingView) violations(label string, all []decide.Violation) {
	var lines []string
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", nonEmpty(" ", f.Policy, f.Rule), f.Effect, nonEmpty(": ", f.Address, f.Message)))
	}
	v.Line(label, "%s", strings.Join(lines, "\n"))
}

func (v *standingView) exempted(all []decide.Exempted) {
	var lines []string
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s: %s\n  until %s: %s", nonEmpty(" ", e.Policy, e.Rule), nonEmpty(": ", e.Address, e.Message), e.Expires.UTC().Format(time.RFC3339), e.Reason))
	}
	v.Line("Exempted", "%s", strings.Join(lines, "\n"))
}

// next is the next step for a pending plan.
func (v *standingView) next(call string) string {
	switch {
	case !v.standing.Pending:
		return ""
	case v.standing.Outcome == content.TrialWaits:
		return "\nRead the plan, then approve it:\n    yuba plan " + call + "\n    yuba approve " + call
	case v.standing.Outcome == content.TrialRefused:
		return "\nChange the configuration, or ask for an exemption in the policy. Then plan again:\n    yuba replan " + call
	}
	return ""
}

// nonEmpty joins the parts that are not empty.
func nonEmpty(separator string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}
