// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// Facts are what a decision is made from.
type Facts struct {
	Now time.Time
	// Bound identifies what was judged. Approvals for anything else do not count.
	Bound Bound
	// Policies are those that concern the stack, in any order.
	Policies []Policy
	// Problems are failures before any policy was evaluated, such as a list of policies that cannot
	// be read, or facts that cannot be computed. Nothing is freed then.
	Problems []string
	// FreedByMode is true if the stack's own mode approves plans (auto or force).
	FreedByMode bool
	// Never are reasons why this plan is never freed without a person, such as a partial plan.
	Never []string
	// Authors are the users whose change this is: the authors and committers of the commits since the
	// last apply, as far as they are known. AuthorsUnknown says why others may have changed something,
	// too; empty if nobody else has.
	Authors        []string
	AuthorsUnknown string
	// Approvals are those that were given, for whatever plan.
	Approvals []Approval
}

// Owners are required reviewers by CODEOWNERS, of whom one must approve.
type Owners struct {
	// Names are those in the file.
	Names []string
	// Users and Groups are the people whom the names stand for.
	Users, Groups []string
}

// Policy is one policy that concerns the stack, with its findings.
type Policy struct {
	// Name is "ClusterPolicy/NAME" or "Policy/NAMESPACE/NAME".
	Name string
	// Audit is true if the policy only records.
	Audit bool
	// AutoApprove: the policy frees plans without violations.
	AutoApprove bool
	// OnViolation is what follows from a violation, unless the rule says something else.
	OnViolation Effect
	// Approvals are what requireApproval asks for. The zero value asks for one.
	Approvals Requirement
	// Rules are the evaluated rules.
	Rules []Rule
	// Exemptions are those that concern the stack.
	Exemptions []Exemption
	// Problem says why the policy could not be evaluated as a whole; empty if it was.
	Problem string
}

// Rule is an evaluated rule.
type Rule struct {
	// Name is unique in the policy: the name of the built-in rule, or the one that the policy gives.
	Name string
	// Effect replaces the policy's OnViolation; empty for none.
	Effect Effect
	// Findings are what the rule found, Omitted how many more.
	Findings []Finding
	Omitted  int
	// Problem says why the rule could not be evaluated; empty if it was.
	Problem string
	// ValidUntil and RetryAt say when time alone changes the findings; zero for never.
	ValidUntil, RetryAt time.Time
}

// Finding is what a rule found. It has the fields of rules.Finding, so that one converts to the
// other.
type Finding struct {
	Rule    string `json:"rule"`
	Address string `json:"address,omitempty"`
	Message string `json:"message"`
	Unknown bool   `json:"unknown,omitempty"`
}

// Effect is what follows from a violation.
type Effect string

// The effects, from the strictest.
const (
	// EffectDeny: the plan is refused, and no approval helps.
	EffectDeny Effect = "deny"
	// EffectRequireApproval: the plan waits for the approvals of the policy.
	EffectRequireApproval Effect = "requireApproval"
	// EffectWarn: the plan waits for anybody who may approve plans of the stack.
	EffectWarn Effect = "warn"
)

// Requirement is what must be given before the plan is applied.
type Requirement struct {
	// Policy is the policy that asks; empty for none.
	Policy string `json:"policy,omitempty"`
	// Count is the number of different people; 0 means 1.
	Count int `json:"count"`
	// Groups: only members of one of them count; empty for anybody who may approve.
	Groups []string `json:"groups,omitempty"`
	// NotAuthor: authors of the change do not count. If not all are known, one more person is needed;
	// so it is for each author who may be one of the approvers under another kind of name.
	NotAuthor bool `json:"notAuthor,omitempty"`
	// Owners: one of each of OwnersOf must be among them. OwnersUnknown says why they are not known; then
	// nobody can approve for them.
	Owners        bool     `json:"owners,omitempty"`
	OwnersOf      []Owners `json:"-"`
	OwnersUnknown string   `json:"-"`
	// Recorded: only approvals that the API recorded count. All of [Facts.Approvals] are; the caller
	// must not take another sign of consent in their place.
	Recorded bool `json:"recorded,omitempty"`
}

// Exemption takes findings out.
type Exemption struct {
	// Rules are the names of the rules; empty for all of the policy.
	Rules []string
	// Addresses are patterns in which "*" stands for any text; empty for all findings.
	Addresses []string
	Reason    string
	// Expires is required: an exemption without it has expired.
	Expires time.Time
}

// Approval is a person's approval of one plan.
type Approval struct {
	User   string
	Groups []string
	// Bound is the hash of what the person approved, see [Bound.Hash].
	Bound string
	At    time.Time
}
