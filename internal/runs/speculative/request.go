// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"context"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Mark separates the name of a stack from the rest of the name of its speculative runs. No stack can
// have such a name, so they share neither working directory nor records with it.
const Mark = "+"

// Of reports whether a run of that stack is speculative.
func Of(s run.Stack) bool { return strings.Contains(s.Name, Mark) }

// Request says what differs from a stack as it is configured now.
type Request struct {
	// By is the user, Trigger says in the queue what the plan is for.
	By, Trigger string
	// Source replaces the artifact of the stack; nil to keep it. It is in the store.
	Source *run.Artifact
	// Kept says that the source stays after the plan: whoever started it removes it.
	Kept bool
	// Manifest is the stack as it would be configured, in JSON: its whole object, which need not exist yet; nil for as it is.
	Manifest []byte
	// StandIns are planned outputs that the stack reads in place of the published ones.
	StandIns []*Planned
	// Replace is another version of a module, Resolved are the versions of the others; nil for none.
	Replace  *run.Replacement
	Resolved map[string]string
	// Proposed is a refactoring whose state is in place of the stack's; empty for the current one.
	Proposed string
	// Note gets the answer once it has ended, before anybody sees it; nil for nobody. Its error fails the plan.
	Note func(ctx context.Context, answer *Answer) error
	// Detailed asks for what people see of a plan, too: its log, the readable plan, and what policies
	// say about it.
	Detailed bool
	// Identity replaces the credentials of the stack; nil to keep them.
	Identity *Identity
}

// Identity are credentials for speculative plans, such as those of a role that may only read.
type Identity struct {
	// ServiceAccount is that of runner Pods and identity tokens.
	ServiceAccount string
	// Secrets are those whose keys become environment variables.
	Secrets []string
}

// Need is an input that is unknown until another stack is applied.
type Need struct {
	// Stack is the producer, NAMESPACE/NAME.
	Stack string `json:"stack"`
	// Input names what is unknown, such as "output vpc" or "contract base: base.vpc_id".
	Input string `json:"input"`
}

// UnknownError says that a stack cannot be planned before others are applied.
type UnknownError struct{ Needs []Need }

func (e *UnknownError) Error() string {
	var stacks, inputs []string
	for _, n := range e.Needs {
		stacks, inputs = append(stacks, n.Stack), append(inputs, n.Input)
	}
	slices.Sort(stacks)
	return "cannot be planned before " + strings.Join(slices.Compact(stacks), ", ") + " is applied: " + strings.Join(inputs, ", ") + " is unknown until then"
}

// Answer is a speculative plan as people see it.
type Answer struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Run       string `json:"run,omitempty"`
	// Ended is true once the others below are set. Waits says what it waits for.
	Ended   bool        `json:"ended"`
	Waits   string      `json:"waits,omitempty"`
	Outcome run.Outcome `json:"outcome,omitempty"`
	Error   string      `json:"error,omitempty"`
	// Needs are set if there is no plan, because inputs are unknown.
	Needs []Need `json:"needs,omitempty"`
	// Revision is the revision of the source that was planned.
	Revision string `json:"revision,omitempty"`
	// Replaced counts the calls that got the other version of a module. From are the versions that
	// they had.
	Replaced int      `json:"replaced,omitempty"`
	From     []string `json:"from,omitempty"`
	// Counts and Changes are of the plan: each change in words, without values.
	Counts  run.Counts `json:"counts"`
	Changes []string   `json:"changes,omitempty"`
	// Outputs are the outputs that the plan changes, without sensitive values.
	Outputs []plan.OutputValueChange `json:"outputs,omitempty"`
	Took    run.Duration             `json:"took,omitempty"`
	// ChangesDigest is equal for two plans with the same changes.
	ChangesDigest string `json:"changesDigest,omitempty"`
	// Inputs identifies the values of the inputs, see run.Spec.InputsDigest. It is never shown.
	Inputs string `json:"-"`
	// Problems are errors and warnings of the tool, Policy is what policies say; of a detailed plan.
	// Files are relative to the root module.
	Problems diagnostic.List `json:"problems,omitempty"`
	Policy   *Verdict        `json:"policy,omitempty"`
	// Contracts are those that the stack publishes: whether the planned outputs keep them.
	Contracts []Contract `json:"contracts,omitempty"`
}

// Verdict is what policies say about a speculative plan. It frees nothing: what is applied later is
// judged again.
type Verdict struct {
	// Decision is Freed, Passed, Held or Refused, as in a stack's status.
	Decision string    `json:"decision"`
	Message  string    `json:"message,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// VerdictRefused is the decision of policies that let nobody apply the plan.
const VerdictRefused = "Refused"

// Finding is an objection or a warning of a rule.
type Finding struct {
	// Policy is Policy/NAME or ClusterPolicy/NAME.
	Policy string `json:"policy"`
	Rule   string `json:"rule"`
	// Address is empty if the finding is about the whole plan.
	Address string `json:"address,omitempty"`
	Message string `json:"message"`
	// Effect is deny, requireApproval, warn or audit.
	Effect string `json:"effect"`
}

// Refused reports whether policies refuse the plan.
func (v *Verdict) Refused() bool { return v != nil && v.Decision == VerdictRefused }

// The results of speculative plans.
const (
	ResultUnchanged = "no changes"
	ResultChanges   = "changes"
	ResultFailed    = "failed"
	ResultUnknown   = "unknown"
	ResultCanceled  = "canceled"
)

// Result sums an answer up.
func (a *Answer) Result() string {
	switch {
	case len(a.Needs) > 0:
		return ResultUnknown
	case a.Outcome == run.OutcomeCanceled:
		return ResultCanceled
	case a.Outcome != run.OutcomeSucceeded:
		return ResultFailed
	case len(a.Changes) > 0:
		return ResultChanges
	}
	return ResultUnchanged
}

// Stack is NAMESPACE/NAME.
func (a *Answer) Stack() string { return a.Namespace + "/" + a.Name }
