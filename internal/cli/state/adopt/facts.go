// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"slices"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Facts are what is known of one stack.
type Facts struct {
	Now   time.Time
	Stack *infrav1.Terraform
	// State is nil when the stack keeps its state elsewhere.
	State *State
	// Lock is who holds the state's lock, LockProblem why that is not known.
	Lock        *state.LockInfo
	LockProblem string
	// Source is nil when the program is inline.
	Source *Source
	// OldPlans are tofu-controller's Secrets and ConfigMaps with plans of the stack.
	OldPlans []string
	// OutputsOwner says whose the Secret for the stack's outputs is when it is somebody else's, OutputsProblem why that is
	// not known.
	OutputsOwner, OutputsProblem string
	// Sharers are the other stacks whose state is the same, by namespace and name.
	Sharers []*infrav1.Terraform
}

// State is what the state's Secret holds.
type State struct {
	Secret string
	Found  bool
	// Unreadable says why the Secret holds no usable state, Unknown why it could not be read.
	Unreadable, Unknown string
	// Elsewhere is true when the Secret only says where Yuba keeps the state.
	Elsewhere bool
	Serial    uint64
	Size      int64
	Resources int
	Encrypted bool
}

// Source is where the program comes from.
type Source struct {
	Name     string
	Found    bool
	Artifact bool
	// Problem says why nothing is known of it, Message what it says itself.
	Problem, Message string
	// OtherNamespace is true when it is not in the stack's namespace.
	OtherNamespace bool
}

// APIFacts are what is known of the API as a whole.
type APIFacts struct {
	// Controllers are the Deployments of tofu-controller that want Pods, Leaders the living holders of its Lease.
	Controllers, Leaders []Workload
	// Yuba holds the name of the Yuba that works on the API already.
	Yuba string
	// KindIsOlder is true when what the API serves lacks the fields that Yuba writes.
	KindIsOlder bool
	// SourceHosts are the hosts that serve artifacts.
	SourceHosts []string
	// Unknown says what could not be found out.
	Unknown []string
}

// Workload is something of tofu-controller that is alive.
type Workload struct {
	Namespace, Name, Detail string
}

// Level says how much a finding matters.
type Level string

// The levels.
const (
	// Fine: it is as it should be.
	Fine Level = "fine"
	// Note: somebody should know.
	Note Level = "note"
	// Attention: somebody has to do something, or the stack does not go on.
	Attention Level = "attention"
)

// Finding is one sentence about a stack or the API.
type Finding struct {
	Level Level `json:"level"`
	// Subject is what it is about: state, lock, plan, source, fields and so on.
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Command is what to type about it, if there is such a thing.
	Command string `json:"command,omitempty"`
}

// StackReport has the findings about one stack.
type StackReport struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Attention bool      `json:"attention"`
	Findings  []Finding `json:"findings"`
}

// Report has all findings.
type Report struct {
	API    []Finding     `json:"api"`
	Stacks []StackReport `json:"stacks"`
}

// Attention counts the stacks that need a hand, and says whether the API does.
func (r Report) Attention() (stacks int, api bool) {
	for _, s := range r.Stacks {
		if s.Attention {
			stacks++
		}
	}
	return stacks, needsAttention(r.API)
}

func needsAttention(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Attention })
}
