// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicyVerdict is what the policies of a stack say about one plan. It holds for the very bytes of
// the plan, and for the very policies that were asked.
type PolicyVerdict struct {
	// The decision. Freed: a policy frees it from review, and none objects. Passed: no
	// policy objects, but none frees it either. Approved: the people that the policies ask for have
	// approved it. Held: it waits for a person. Refused: nobody may apply it.
	// +kubebuilder:validation:Enum=Freed;Passed;Approved;Held;Refused
	// +required
	Decision PolicyDecision `json:"decision"`

	// Why, for people.
	// +optional
	Message string `json:"message,omitempty"`

	// The findings of the rules, at most 50, the most severe first.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Findings []PolicyFinding `json:"findings,omitempty"`

	// Findings that an exemption takes out, at most 50.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Exempted []PolicyExempted `json:"exempted,omitempty"`

	// The policies that were asked, as Policy/NAME or ClusterPolicy/NAME.
	// +listType=atomic
	// +optional
	Policies []string `json:"policies,omitempty"`

	// Identifies the policies and their contents, as sha256:HEX. With other policies, the plan is
	// judged again.
	// +required
	Set string `json:"set"`

	// The digest of the plan's file, as sha256:HEX.
	// +required
	Plan string `json:"plan"`

	// When the plan was judged.
	// +required
	JudgedAt metav1.Time `json:"judgedAt"`

	// When the verdict ends, because a rule or an exemption depends on the time. The plan is then
	// judged again.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Whether the plan was made without the details that policies need, so that Yuba plans again.
	// +optional
	NeedsPlan bool `json:"needsPlan,omitempty"`

	// Identifies everything that was judged, as sha256:HEX: the plan, the policies, the source, the lock
	// file and the state. An approval names it, and counts for nothing else.
	// +optional
	Bound string `json:"bound,omitempty"`

	// Whether only approvals that the API recorded can free the plan. Naming the plan in
	// spec.approvePlan does not: nobody knows who wrote that.
	// +optional
	NeedsRecordedApprovals bool `json:"needsRecordedApprovals,omitempty"`

	// How many of the plan's recorded approvals were considered.
	// +optional
	ApprovalsSeen int32 `json:"approvalsSeen,omitempty"`

	// The owners of the stack's files by CODEOWNERS, where a policy asks for them: one of each entry must
	// approve.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=60
	// +optional
	Owners []PlanOwners `json:"owners,omitempty"`

	// Why the owners are not known, or which lines of CODEOWNERS cannot be read.
	// +optional
	OwnersNote string `json:"ownersNote,omitempty"`

	// The record of this verdict in the audit log of the stack, as NUMBER sha256:HEX.
	// +optional
	AuditRecord string `json:"auditRecord,omitempty"`
}

// PlanOwners are owners by CODEOWNERS, of whom one must approve.
type PlanOwners struct {
	// Their names in the file.
	// +listType=atomic
	// +required
	Names []string `json:"names"`

	// A file that they own.
	// +optional
	Path string `json:"path,omitempty"`

	// The users whom the names stand for.
	// +listType=atomic
	// +optional
	Users []string `json:"users,omitempty"`

	// The groups that the names stand for.
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`

	// Whether one of them has approved.
	// +optional
	Approved bool `json:"approved,omitempty"`
}

// PlanApproval is a person's approval of the pending plan. The API server has authenticated the
// person.
type PlanApproval struct {
	// The user's name.
	// +required
	User string `json:"user"`

	// The user who acted as this user, by impersonation.
	// +optional
	Impersonator string `json:"impersonator,omitempty"`

	// Those of the user's groups that policies ask for.
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`

	// The approved content: status.plan.policy.bound at that time.
	// +required
	Bound string `json:"bound"`

	// When the person approved the plan.
	// +required
	At metav1.Time `json:"at"`
}

// PolicyDecision says what may happen to a plan.
type PolicyDecision string

const (
	PolicyFreed  PolicyDecision = "Freed"
	PolicyPassed PolicyDecision = "Passed"
	// PolicyApproved: the people that the policies ask for have approved the plan.
	PolicyApproved PolicyDecision = "Approved"
	PolicyHeld     PolicyDecision = "Held"
	PolicyRefused  PolicyDecision = "Refused"
)

// PolicyFinding is an objection of a rule, or a remark.
type PolicyFinding struct {
	// The policy, as Policy/NAME or ClusterPolicy/NAME.
	// +required
	Policy string `json:"policy"`

	// The rule's name.
	// +required
	Rule string `json:"rule"`

	// The resource's address; empty if the finding is about the whole plan.
	// +optional
	Address string `json:"address,omitempty"`

	// Describes the violation.
	// +required
	Message string `json:"message"`

	// The effect of the finding: deny, requireApproval, warn or audit.
	// +required
	Effect string `json:"effect"`
}

// PolicyExempted is a finding that does not count, for a while.
type PolicyExempted struct {
	// The policy, as Policy/NAME or ClusterPolicy/NAME.
	// +required
	Policy string `json:"policy"`

	// The rule's name.
	// +required
	Rule string `json:"rule"`

	// The resource's address; empty if the finding is about the whole plan.
	// +optional
	Address string `json:"address,omitempty"`

	// Describes the exempted violation.
	// +required
	Message string `json:"message"`

	// The reason of the exemption.
	// +required
	Reason string `json:"reason"`

	// When the exemption ends.
	// +required
	Expires metav1.Time `json:"expires"`
}
