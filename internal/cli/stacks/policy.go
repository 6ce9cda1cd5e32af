// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// shownFindings limits the findings that follow a plan; "yuba plan -o json" has those of the status.
const shownFindings = 20

// ownersNews lists the owners by CODEOWNERS whose approval policies ask for.
func ownersNews(v *infrav1.PolicyVerdict) string {
	if v.Decision != infrav1.PolicyHeld && v.Decision != infrav1.PolicyApproved {
		return ""
	}
	var b strings.Builder
	for i, o := range v.Owners {
		if i == shownFindings {
			fmt.Fprintf(&b, "\n  and %d more groups of owners", len(v.Owners)-shownFindings)
			break
		}
		is := "must approve"
		switch {
		case o.Approved:
			is = "has approved"
		case len(o.Users)+len(o.Groups) == 0:
			is = "must approve, but stands for no user or group; see spec.approvals.owners of the policy"
		}
		fmt.Fprintf(&b, "\n  owner of %s: one of %s %s", o.Path, strings.Join(o.Names, ", "), is)
	}
	if v.OwnersNote != "" {
		b.WriteString("\n  owners by " + v.OwnersNote)
	}
	return b.String()
}

// policyNews says what policies make of the pending plan; empty if none binds the stack.
func policyNews(t *infrav1.Terraform) string {
	v := t.Status.Plan.Policy
	if v == nil || t.Status.Plan.Pending == "" {
		return ""
	}
	var b strings.Builder
	switch v.Decision {
	case infrav1.PolicyFreed:
		b.WriteString("\nPolicies free this plan from review.")
	case infrav1.PolicyPassed:
		b.WriteString("\nNo policy objects to this plan, and none frees it from review.")
	case infrav1.PolicyApproved:
		b.WriteString("\nThe people that policies ask for have approved this plan.")
	case infrav1.PolicyHeld:
		b.WriteString("\nPolicies hold this plan for approval:")
	case infrav1.PolicyRefused:
		b.WriteString("\nPolicies refuse this plan. No approval overrides that:")
	}
	for i, f := range v.Findings {
		if i == shownFindings {
			fmt.Fprintf(&b, "\n  and %d more", len(v.Findings)-shownFindings)
			break
		}
		what := strings.TrimPrefix(f.Address+": ", ": ") + f.Message
		fmt.Fprintf(&b, "\n  %s %s (%s): %s", f.Policy, f.Rule, f.Effect, what)
	}
	if len(v.Findings) == 0 && (v.Decision == infrav1.PolicyHeld || v.Decision == infrav1.PolicyRefused) {
		b.WriteString("\n  " + v.Message)
	}
	b.WriteString(exemptionNews(v))
	b.WriteString(ownersNews(v))
	for _, a := range t.Status.Plan.Approvals {
		by := a.User
		if a.Impersonator != "" {
			by += " (" + a.Impersonator + " acted as this user)"
		}
		fmt.Fprintf(&b, "\n  approved by %s at %s", by, a.At.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	if v.NeedsRecordedApprovals {
		b.WriteString("\n" + v.Message)
	}
	return diagnostic.Printable(b.String())
}
