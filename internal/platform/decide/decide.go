// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Decide decides what to do for a platform.
func Decide(f Facts) Decision {
	if f.Decommission {
		f.Steps = nil
	}
	w := world{Facts: f, sights: map[string]Sight{}, ready: map[string]bool{}}
	for _, s := range f.Sights {
		w.sights[s.Stack] = s
	}
	d := Decision{}
	w.judge(&d)
	w.remember(&d)
	w.remains(&d)
	ready := 0
	for _, phase := range d.Phases {
		if phase.State == yubav1.PhaseReady {
			ready++
		}
	}
	d.Progress = fmt.Sprintf("%d/%d", ready, len(d.Phases))
	for _, rule := range rules {
		if reason, message := rule(&w, &d); reason != "" {
			d.Reason, d.Message = reason, message
			break
		}
	}
	d.Ready = d.Reason == yubav1.ReasonPlatformReady
	if blocked(d.Reason) {
		return d
	}
	w.act(&d)
	return d
}

// blocked reports whether nothing may be written or removed.
func blocked(reason string) bool {
	return slices.Contains([]string{yubav1.ReasonPlatformMoved, yubav1.ReasonPlatformInvalid, yubav1.ReasonPlatformDomainTaken, yubav1.ReasonPlatformCredentials, yubav1.ReasonPlatformNameTaken}, reason)
}

// world are facts by name.
type world struct {
	Facts
	sights map[string]Sight
	// ready are the ids of steps that are ready.
	ready map[string]bool
}

// act decides what to write and to remove.
func (w *world) act(d *Decision) {
	wanted := map[string]bool{}
	for _, s := range w.Steps {
		if s.Manual != nil {
			continue
		}
		wanted[s.Stack] = true
		sight, exists := w.sights[s.Stack]
		if !exists && w.peopleFirst(s) {
			continue
		}
		if w.away(s.Stack) != "" {
			continue // its owner alone changes it; a second one would destroy what the first has made
		}
		if s.Lacks == "" && !sight.Deleting && (exists || !w.Suspend) {
			d.Write = append(d.Write, s.Stack)
		}
	}
	for _, s := range slices.Backward(w.Sights) {
		if s.Ours && s.Away == "" && !wanted[s.Stack] && !s.Deleting && !w.Suspend {
			d.Remove = append(d.Remove, s.Stack)
		}
	}
}

// manual is the state of a step that people do. Without an answer, it stays ready if it was: a lost packet is no news.
func (w *world) manual(s *Step) (yubav1.PlatformPhaseState, string) {
	state, message := s.Manual.state()
	if state == yubav1.PhaseReady || len(s.Manual.Records) == 0 || len(pick(s.Manual.Records, yubav1.RecordMissing)) > 0 {
		return state, message
	}
	for _, before := range w.Before {
		if before.Name == s.ID && before.State == yubav1.PhaseReady {
			return yubav1.PhaseReady, "its DNS records existed, and cannot be checked now"
		}
	}
	return state, message
}

// peopleFirst reports whether a step comes after something that people have not done yet.
func (w *world) peopleFirst(s Step) bool {
	for _, before := range w.Steps {
		if before.Manual == nil || !slices.Contains(s.Needs, before.ID) {
			continue
		}
		if state, _ := w.manual(&before); state != yubav1.PhaseReady {
			return true
		}
	}
	return false
}

// away says who has a stack; empty if it is the platform's. A stack whose object was deleted while it was away still
// is: "a deletion keeps all resources" for the owner.
func (w *world) away(stack string) string {
	if sight, exists := w.sights[stack]; exists {
		return sight.Away
	}
	for _, before := range w.Before {
		if before.Stack == stack && before.State == yubav1.PhaseAway {
			return before.Message
		}
	}
	return ""
}

// remember keeps phases that are away and that no step speaks of, while the blueprint is not made: it may be made again.
func (w *world) remember(d *Decision) {
	if len(w.Problems) == 0 && !w.Decommission {
		return
	}
	for _, before := range w.Before {
		known := slices.ContainsFunc(d.Phases, func(p yubav1.PlatformPhaseStatus) bool { return p.Stack == before.Stack })
		if message := w.away(before.Stack); !known && message != "" {
			before.State, before.Message = yubav1.PhaseAway, message
			d.Phases = append(d.Phases, before)
		}
	}
	for _, s := range w.Sights {
		if s.Ours && s.Away != "" && !slices.ContainsFunc(d.Phases, func(p yubav1.PlatformPhaseStatus) bool { return p.Stack == s.Stack }) {
			d.Phases = append(d.Phases, yubav1.PlatformPhaseStatus{Name: s.name(), Region: s.Region, Phase: s.Phase, Component: s.Component, Stack: s.Stack, State: yubav1.PhaseAway, Message: s.Away})
		}
	}
}

// name is REGION/PHASE, or REGION/COMPONENT.
func (s *Sight) name() string {
	if s.Component != "" {
		return s.Region + "/" + s.Component
	}
	return s.Region + "/" + string(s.Phase)
}

// judge fills in the phases.
func (w *world) judge(d *Decision) {
	for _, step := range w.Steps {
		sight, exists := w.sights[step.Stack]
		exists = exists && sight.Ours
		phase := yubav1.PlatformPhaseStatus{Name: step.ID, Region: step.Region, Phase: step.Phase, Component: step.Component, Stack: step.Stack}
		for _, id := range step.Needs {
			if !w.ready[id] {
				phase.WaitsFor = append(phase.WaitsFor, id)
			}
		}
		switch {
		case step.Manual != nil:
			phase.State, phase.Message = w.manual(&step)
		case w.away(step.Stack) != "":
			phase.State, phase.Message, phase.WaitsFor = yubav1.PhaseAway, w.away(step.Stack), nil
		case exists:
			tell(&phase, &sight)
		case step.Lacks != "":
			phase.State, phase.Message = yubav1.PhaseWaiting, "waits for "+step.Lacks
		default:
			phase.State = yubav1.PhaseWaiting
		}
		if phase.State == yubav1.PhaseWaiting && phase.Message == "" && len(phase.WaitsFor) > 0 {
			phase.Message = "waits for " + strings.Join(phase.WaitsFor, ", ")
		}
		if phase.State == yubav1.PhaseReady {
			w.ready[step.ID] = true
		}
		w.times(&phase)
		d.Phases = append(d.Phases, phase)
	}
}

// tell writes what a stack says.
func tell(phase *yubav1.PlatformPhaseStatus, s *Sight) {
	phase.Run, phase.Failures, phase.Changes = s.Run, s.Failures, s.Changes
	phase.State, phase.Message = stateOf(s)
	if phase.State == yubav1.PhaseAwaitingApproval {
		phase.Plan = s.Pending
	}
}

// stateOf is the state of a stack; the first rule that fits wins.
func stateOf(s *Sight) (yubav1.PlatformPhaseState, string) {
	switch {
	case s.Deleting:
		return yubav1.PhaseRemoving, s.Message
	case s.Operation == "plan":
		return yubav1.PhasePlanning, ""
	case s.Operation != "":
		return yubav1.PhaseApplying, ""
	case s.Suspended:
		return yubav1.PhaseSuspended, "the stack is suspended"
	case !s.Seen:
		return yubav1.PhaseWaiting, "the stack is not processed yet"
	case s.Phase == yubav1.PhasePreflight && s.Pending != "":
		return yubav1.PhaseFailed, "the module of the phase preflight wants to make something: it must have data sources and checks only, and no outputs"
	case s.Pending != "" && s.Ready != string(metav1.ConditionFalse):
		return yubav1.PhaseAwaitingApproval, s.Message
	case s.Ready == string(metav1.ConditionTrue):
		return yubav1.PhaseReady, s.Message
	case s.Waits:
		return yubav1.PhaseWaiting, s.Message
	case s.Ready == string(metav1.ConditionFalse):
		return yubav1.PhaseFailed, s.Message
	}
	return yubav1.PhasePlanning, s.Message
}

// times keeps the times of a phase, or sets them.
func (w *world) times(phase *yubav1.PlatformPhaseStatus) {
	now := metav1.NewTime(w.Now)
	for _, before := range w.Before {
		if before.Name == phase.Name && before.Stack == phase.Stack {
			phase.StartedAt, phase.ReadyAt = before.StartedAt, before.ReadyAt
		}
	}
	if phase.StartedAt == nil && phase.Run != "" {
		phase.StartedAt = &now
	}
	if phase.ReadyAt == nil && phase.State == yubav1.PhaseReady {
		phase.ReadyAt = &now
	}
}

// remains lists what is left of the stacks that the blueprint does not want.
func (w *world) remains(d *Decision) {
	wanted := map[string]bool{}
	for _, s := range w.Steps {
		wanted[s.Stack] = true
	}
	for _, s := range w.Sights {
		if !s.Ours || s.Away != "" || wanted[s.Stack] && !s.Deleting {
			continue
		}
		name := s.name()
		message := s.Message
		if s.Suspended {
			message = "the stack is suspended, which also stops its deletion. Resume it: yuba resume " + s.Stack
		}
		d.Remaining = append(d.Remaining, yubav1.PlatformRemains{Stack: s.Stack, Phase: name, Count: s.Count, Resources: s.Resources, Message: message})
	}
}
