// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"
)

// Outcome is what happens to the plan.
type Outcome string

// The outcomes, from the freest.
const (
	// OutcomeApply: the plan is applied, by itself or because all approvals are there.
	OutcomeApply Outcome = "Apply"
	// OutcomeWait: the plan waits for the approvals in Missing.
	OutcomeWait Outcome = "Wait"
	// OutcomeRefuse: the plan is not applied, whoever approves it.
	OutcomeRefuse Outcome = "Refuse"
)

// Reasons of decisions.
const (
	// ReasonFreed: no violations, and a policy or the stack's mode frees the plan.
	ReasonFreed = "PolicyFreed"
	// ReasonApproved: people gave all approvals that are required.
	ReasonApproved = "PolicyApproved"
	// ReasonNotFreed: no violations, but nothing frees the plan.
	ReasonNotFreed = "PolicyNotFreed"
	// ReasonPartial: no violations, but the plan is none that a policy may free, see [Facts.Never].
	ReasonPartial = "PolicyNeverFrees"
	// ReasonViolated: violations wait for approvals.
	ReasonViolated = "PolicyViolated"
	// ReasonDenied: a violation refuses the plan.
	ReasonDenied = "PolicyDenied"
	// ReasonFailed: policies could not be evaluated.
	ReasonFailed = "PolicyFailed"
)

// Decision is the decision about one plan. Conditions, events, the audit record and `yuba plan`
// print it.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	// Reason is for machines, Message for people.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// WaitsFor says whose approval is missing; empty unless the plan waits.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Bound is the hash of what was judged.
	Bound string `json:"bound"`
	// Violations are the findings that count, with their effects, the strictest first.
	Violations []Violation `json:"violations,omitempty"`
	// Missing are the requirements that are not met yet.
	Missing []Missing `json:"missing,omitempty"`
	// Approvers are the people whose approvals count.
	Approvers []string `json:"approvers,omitempty"`
	// FreedBy are the policies that free the plan.
	FreedBy []string `json:"freedBy,omitempty"`
	// Exempted are findings that an exemption takes out.
	Exempted []Exempted `json:"exempted,omitempty"`
	// Audited are violations of policies in audit mode: what would follow.
	Audited []Violation `json:"audited,omitempty"`
	// ValidUntil is when the decision must be made again, although nothing else changed; zero for
	// never. RetryAt is when it may be freer.
	ValidUntil time.Time `json:"validUntil,omitzero"`
	RetryAt    time.Time `json:"retryAt,omitzero"`
}

// NeedsRecorded reports whether an approval is missing that the API must record.
func (d *Decision) NeedsRecorded() bool {
	return slices.ContainsFunc(d.Missing, func(m Missing) bool { return m.Recorded })
}

// Violation is a finding that counts.
type Violation struct {
	Policy  string `json:"policy"`
	Effect  Effect `json:"effect"`
	Finding `json:",inline"`
	// Problem is true if the rule or policy could not be evaluated.
	Problem bool `json:"problem,omitempty"`
}

// Missing is a requirement that is not met.
type Missing struct {
	Requirement `json:",inline"`
	// Have is the number of approvals that count for it.
	Have int `json:"have"`
	// AuthorsUnknown says why Count is one more than the policy's; empty if it is not, or if nobody is
	// known.
	AuthorsUnknown string `json:"authorsUnknown,omitempty"`
	// Owners are the groups of owners of which nobody approved.
	OwnersMissing [][]string `json:"ownersMissing,omitempty"`
}

// Exempted is a finding that an exemption takes out.
type Exempted struct {
	Policy  string `json:"policy"`
	Finding `json:",inline"`
	Reason  string    `json:"exemption"`
	Expires time.Time `json:"expires"`
}
