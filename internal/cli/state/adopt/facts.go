// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"slices"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Facts are what is known about one stack.
type Facts struct {
	Now   time.Time
	Stack *infrav1.Terraform
	// State is nil for stacks with a custom backend.
	State *State
	// Lock is the lock holder; LockProblem is why it is unknown.
	Lock        *state.LockInfo
	LockProblem string
	// Source is nil for inline programs.
	Source *Source
	// OldPlans are tofu-controller's Secrets and ConfigMaps with plans of the stack.
	OldPlans []string
	// OutputsOwner is another owner of the Secret for outputs; OutputsProblem is why it is unknown.
	OutputsOwner, OutputsProblem string
	// Sharers are other stacks with the same state.
	Sharers []*infrav1.Terraform
}

// State is the content of the state's Secret.
type State struct {
	Secret string
	Found  bool
	// Unreadable is why the Secret has no usable state; Unknown is why the Secret cannot be read.
	Unreadable, Unknown string
	// Elsewhere: the Secret only names the place where Yuba stores the state.
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
	// Problem is why the source cannot be read; Message is that of its Ready condition.
	Problem, Message string
	// OtherNamespace: it is in another namespace than the stack.
	OtherNamespace bool
}

// APIFacts are what is known about the API as a whole.
type APIFacts struct {
	// Controllers are the running Deployments of tofu-controller; Leaders hold its Lease.
	Controllers, Leaders []Workload
	// Yuba is the name of the Yuba that already works on the API.
	Yuba string
	// KindIsOlder: the served kind lacks fields that Yuba writes.
	KindIsOlder bool
	// SourceHosts are the hosts that serve artifacts.
	SourceHosts []string
	// Unknown are checks that failed.
	Unknown []string
}

// Workload is a live part of tofu-controller.
type Workload struct {
	Namespace, Name, Detail string
}

// Level is the importance of a finding.
type Level string

// The levels.
const (
	// Fine: nothing changes.
	Fine Level = "fine"
	// Note: good to know.
	Note Level = "note"
	// Attention: the stack needs action to continue.
	Attention Level = "attention"
)

// Finding is one sentence about a stack or the API.
type Finding struct {
	Level Level `json:"level"`
	// Subject is the topic: state, lock, plan, source, fields and so on.
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Command is the command to use, if any.
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

// Attention counts the stacks that need action, and reports whether the API does.
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
