// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"regexp"
	"strings"
)

// The actions of a plan that create or destroy an object.
const (
	ActionCreate  = "create"
	ActionReplace = "replace"
	ActionDelete  = "delete"
)

// Fate is an object that a plan creates or destroys.
type Fate struct {
	// Address is the resource instance, masked. Match is a digest of the unmasked one if they
	// differ.
	Address string `json:"address"`
	Match   string `json:"match,omitempty"`
	// Action is one of the Action constants.
	Action string `json:"action"`
	// Identity is a name of the object, such as `name "web"`, masked.
	Identity string `json:"identity,omitempty"`
}

// TellsFates reports whether a plan names its objects. Older runners only count them.
func (p *PlanResult) TellsFates() bool {
	return p != nil && (p.FatesTotal > 0 || p.Counts.Add+p.Counts.Destroy == 0)
}

// Trace describes a failed or interrupted apply according to its log.
type Trace struct {
	// Whole is true if the complete log was read: steps that it does not mention did not begin.
	// Otherwise Why says what may be missing.
	Whole bool   `json:"whole,omitempty"`
	Why   string `json:"why,omitempty"`
	// Orderly is true if the tool exited on its own, after writing its last state.
	Orderly bool `json:"orderly,omitempty"`
	// Steps are the steps that began.
	Steps []TraceStep `json:"steps,omitempty"`
}

// TraceStep is the creation or destruction of one object according to the log.
type TraceStep struct {
	Address string `json:"address"`
	Match   string `json:"match,omitempty"`
	// Action is ActionCreate or ActionDelete: a replacement has one of each.
	Action string `json:"action"`
	// Ended is TraceDone or TraceFailed; empty for a step that did not end.
	Ended string `json:"ended,omitempty"`
	// ID is the object's id at the provider, if the log has it.
	ID string `json:"id,omitempty"`
}

// How a step of an apply ended.
const (
	TraceDone   = "done"
	TraceFailed = "failed"
)

// Unproven is an object of which no state proves that it was created or destroyed.
type Unproven struct {
	Address string `json:"address"`
	Match   string `json:"match,omitempty"`
	// Action is the planned one; empty if the plan is lost.
	Action string `json:"action,omitempty"`
	// MayExist: it may have been created, but no state has it. MayBeGone: it may have been
	// destroyed, but the state has it. A replacement may be both.
	MayExist  bool `json:"mayExist,omitempty"`
	MayBeGone bool `json:"mayBeGone,omitempty"`
	// Certain is true if the log says that the action was completed.
	Certain bool `json:"certain,omitempty"`
	// Many is true for a resource in the program with any number of instances, if the plan is lost.
	Many bool `json:"many,omitempty"`
	// ID is the provider's id, Identity another name; both may be empty.
	ID       string `json:"id,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Replaces is true if the state may have an earlier object at this address. Then only an object
	// with an id other than ReplacedID proves the new one; without a ReplacedID, no object does.
	Replaces   bool   `json:"replaces,omitempty"`
	ReplacedID string `json:"replacedID,omitempty"`
	// StateUnread is true if the state could not be read.
	StateUnread bool `json:"stateUnread,omitempty"`
}

// CutOff reports whether an apply began and did not end well, so that unproven resources may exist.
// If only the outputs could not be read, the apply was complete and its state stored.
func (r *Result) CutOff() bool {
	return r.ApplyStarted && r.Outcome != OutcomeSucceeded && (r.FailedStep != StepOutput || r.Class == FailureState)
}

// UnprovenSentence says how many resources are unproven.
func UnprovenSentence(n int) string {
	if n == 1 {
		return "1 resource may exist, or be gone, without any state proving it"
	}
	return fmt.Sprintf("%d resources may exist, or be gone, without any state proving it", n)
}

// UnprovenAdvice is the next step for unproven resources. importable: some may exist at an address
// without an object in the state; replaced: some may have replaced an object.
func UnprovenAdvice(importable, replaced bool) string {
	const compare = "the state has an object at its address: compare its id with the real object"
	switch {
	case importable && replaced:
		return "Check whether they exist. Import or remove those that do. Of a replacement " + compare
	case importable:
		return "Check whether they exist. Import or remove those that do"
	case replaced:
		return "Check which of them exist. Of a replacement " + compare
	}
	return "Check whether they still exist. The next plan of the whole stack finds out"
}

// Type is the resource type in an address, such as aws_instance.
func (u Unproven) Type() string { return ResourceType(u.Address) }

// String names the object and describes the doubt, in one line.
func (u Unproven) String() string {
	text := u.Address
	if what := u.Called(); what != "" {
		text += " (" + what + ")"
	}
	return text + ": " + u.Doubt()
}

// Called returns the object's id and name, if known.
func (u Unproven) Called() string {
	switch {
	case u.ID == "" || strings.Contains(u.Identity, `"`+u.ID+`"`):
		return u.Identity
	case u.Identity == "":
		return u.ID
	}
	return u.ID + ", " + u.Identity
}

// Doubt says what may have happened to the object.
func (u Unproven) Doubt() string {
	switch {
	case u.MayExist && u.MayBeGone && u.Certain:
		return "was replaced, and " + u.stateHas("the state has the object before")
	case u.MayExist && u.MayBeGone:
		return "may be gone, and its replacement may exist"
	case u.MayBeGone && u.Certain:
		return "was destroyed, and " + u.stateHas("the state still has it")
	case u.MayBeGone && u.StateUnread:
		return "may be gone, and " + u.stateHas("")
	case u.MayBeGone:
		return "may be gone, though the state has it"
	case u.Many:
		return "any number of it may exist"
	case u.Certain:
		return "was created, and " + u.stateHas("no state has it")
	}
	return "may exist, and " + u.stateHas("no state has it")
}

// stateHas returns the words, unless the state could not be read.
func (u Unproven) stateHas(words string) string {
	if u.StateUnread {
		return "its state could not be read"
	}
	return words
}

// OverAnother reports whether an object in the state keeps it from being imported.
func (u Unproven) OverAnother() bool { return u.MayExist && u.Replaces && !u.Many }

// instanceKeys are the keys of instances in an address.
var instanceKeys = regexp.MustCompile(`\[("(\\.|[^"\\])*"|[^"\]]*)\]`)

// ResourceType is the resource type in the address of a resource instance; else empty.
func ResourceType(address string) string {
	parts := strings.Split(instanceKeys.ReplaceAllString(address, ""), ".")
	for len(parts) >= 2 && parts[0] == "module" {
		parts = parts[2:]
	}
	if len(parts) < 2 {
		return ""
	}
	return parts[0]
}
