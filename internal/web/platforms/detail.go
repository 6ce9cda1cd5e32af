// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// detail is the data of the templates of one platform.
type detail struct {
	row
	Organization         string
	Created, Completed   *metav1.Time
	Decommission, AirGap bool
	Endpoints            []yubav1.PlatformEndpoint
	Phases               []phase
	Records              []record
	RecordsSay           string
	Remaining            []remains
}

// phase is a phase of a region.
type phase struct {
	Name       string
	State      standing.State
	Word, Says string
	// Stack, Plan and Run are addresses; empty for none.
	Stack, Plan, Run string
	StackName        string
	Started          *metav1.Time
	// Took is how long it took until it was ready; empty while it is not.
	Took    string
	Changes string
	// Failures since the last success.
	Failures int
}

// record is a DNS record that people create.
type record struct {
	Name, Type, Addresses, Word, Says string
	State                             standing.State
}

// remains is what a removal has left.
type remains struct {
	Phase, StackName, Stack, Says string
	Count                         int64
	Resources                     []string
	More                          int64
}

// detailOf is what a page shows of a platform. sees reports whether the person can open a stack.
func detailOf(p *yubav1.Platform, sees func(stack string) bool) detail {
	address := func(stack string, more ...string) string {
		if stack == "" || !sees(stack) {
			return ""
		}
		return site.Path(append([]string{"stacks", p.Namespace, stack}, more...)...)
	}
	s := &p.Status
	d := detail{row: rowOf(p), Organization: cmp.Or(p.Spec.Organization.DisplayName, p.Spec.Organization.Name), Created: &p.CreationTimestamp, Completed: s.CompletedAt,
		Decommission: p.Spec.Decommission, AirGap: p.Spec.AirGap, Endpoints: s.Endpoints, RecordsSay: conditions.Of(p, yubav1.ConditionRecordsPresent).Message}
	for i := range s.Phases {
		one := &s.Phases[i]
		v := phase{Name: one.Name, State: states[one.State], Word: words(string(one.State)), Says: one.Message, StackName: one.Stack, Stack: address(one.Stack), Started: one.StartedAt, Changes: one.Changes, Failures: int(one.Failures)}
		if len(one.WaitsFor) > 0 && one.State == yubav1.PhaseWaiting {
			v.Says = "Waits for " + strings.Join(one.WaitsFor, ", ")
		}
		if one.Plan != "" {
			v.Plan = address(one.Stack, "plan")
		}
		if one.Run != "" {
			v.Run = address(one.Stack, "runs", one.Run)
		}
		if one.StartedAt != nil && one.ReadyAt != nil {
			v.Took = one.ReadyAt.Sub(one.StartedAt.Time).Round(time.Second).String()
		}
		d.Phases = append(d.Phases, v)
	}
	for i := range s.Records {
		one := &s.Records[i]
		d.Records = append(d.Records, record{one.Name, one.Type, strings.Join(one.Addresses, ", "), strings.ToLower(string(one.State)), one.Message, recordStates[one.State]})
	}
	for i := range s.Remaining {
		one := &s.Remaining[i]
		d.Remaining = append(d.Remaining, remains{one.Phase, one.Stack, address(one.Stack), one.Message, one.Count, one.Resources, one.Count - int64(len(one.Resources))})
	}
	return d
}

// states are the states of phases, as the marks of stacks.
var states = map[yubav1.PlatformPhaseState]standing.State{
	yubav1.PhaseReady: standing.Ready, yubav1.PhaseFailed: standing.Failed, yubav1.PhaseAwaitingApproval: standing.Pending, yubav1.PhaseApplying: standing.Running,
	yubav1.PhasePlanning: standing.Running, yubav1.PhaseRemoving: standing.Deleting, yubav1.PhaseSuspended: standing.Suspended, yubav1.PhaseWaiting: standing.Waiting,
	yubav1.PhaseAway: standing.Suspended,
}

var recordStates = map[yubav1.PlatformRecordState]standing.State{
	yubav1.RecordPresent: standing.Ready, yubav1.RecordMissing: standing.Pending, yubav1.RecordUnknown: standing.Waiting,
}

// reasons are the states of platforms, by the reason of the condition Ready. All others are failures.
var reasons = map[string]standing.State{
	yubav1.ReasonPlatformReady: standing.Ready, yubav1.ReasonPlatformProgressing: standing.Running, yubav1.ReasonPlatformApproval: standing.Pending,
	yubav1.ReasonPlatformRemoving: standing.Deleting, yubav1.ReasonPlatformAway: standing.Suspended, yubav1.ReasonPlatformDecommissioned: standing.Suspended,
	yubav1.ReasonPlatformSuspended: standing.Suspended, yubav1.ReasonPlatformMoved: standing.Suspended, "": standing.Running,
}

// stateOf is the mark of a platform, and the word on it.
func stateOf(p *yubav1.Platform) (standing.State, string) {
	reason := conditions.Of(p, infrav1.ConditionReady).Reason
	state, ok := reasons[reason]
	if !ok {
		state = standing.Failed
	}
	switch reason {
	case yubav1.ReasonPlatformDecommissioned:
		return state, "decommissioned"
	case yubav1.ReasonPlatformAway:
		return state, "away"
	case yubav1.ReasonPlatformMoved:
		return state, "moved"
	case yubav1.ReasonPlatformRemoving:
		return state, "removing"
	}
	return state, string(state)
}

// words are a name such as AwaitingApproval in words.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
