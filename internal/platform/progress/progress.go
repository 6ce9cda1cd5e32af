// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress turns the statuses of a platform into events for people and programs. It is pure: two statuses
// in, the events between them out.
//
// An event has the shape of the provisioner that Yuba replaces, {time, phase, level, message, component, state}, so
// that its clients understand the streams of commands and of the server.
package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// The levels of events.
const (
	LevelInfo  = "info"
	LevelWarn  = "warn"
	LevelError = "error"
)

// Event is a step of a bootstrap.
type Event struct {
	Time time.Time `json:"time"`
	// Phase is REGION/PHASE, or REGION/COMPONENT; empty for the platform itself.
	Phase   string `json:"phase"`
	Level   string `json:"level"`
	Message string `json:"message"`
	// Component is the component of the phase, if it is one.
	Component string `json:"component,omitempty"`
	// State is the new state of the phase; empty for lines of a log.
	State string `json:"state,omitempty"`
}

// Between returns the events between two statuses; before is nil for the first one.
func Between(before, after *yubav1.PlatformStatus, now time.Time) (events []Event) {
	was := map[string]yubav1.PlatformPhaseStatus{}
	left := map[string]yubav1.PlatformRemains{}
	if before != nil {
		for _, p := range before.Phases {
			was[p.Name] = p
		}
		for _, r := range before.Remaining {
			left[r.Stack] = r
		}
	}
	for _, p := range after.Phases {
		old, known := was[p.Name]
		if known && old.State == p.State && (old.Message == p.Message || !tells(&p)) {
			continue
		}
		events = append(events, Event{Time: timeOf(&p, now), Phase: p.Name, Level: levelOf(p.State), Message: MessageOf(&p), Component: p.Component, State: string(p.State)})
	}
	remaining := map[string]bool{}
	for _, r := range after.Remaining {
		remaining[r.Stack] = true
		if old, known := left[r.Stack]; !known {
			events = append(events, Event{Time: now, Phase: r.Phase, Level: LevelInfo, State: string(yubav1.PhaseRemoving), Message: fmt.Sprintf("removing %d resources", r.Count)})
		} else if old.Message != r.Message && r.Message != "" {
			events = append(events, Event{Time: now, Phase: r.Phase, Level: LevelWarn, State: string(yubav1.PhaseRemoving), Message: r.Message})
		}
	}
	if before != nil {
		for _, r := range before.Remaining {
			if !remaining[r.Stack] {
				events = append(events, Event{Time: now, Phase: r.Phase, Level: LevelInfo, State: "Removed", Message: "removed"})
			}
		}
	}
	return events
}

// tells reports whether the message of a phase says more than its state: why it failed, who has its stack, or what it waits for besides
// other phases.
func tells(p *yubav1.PlatformPhaseStatus) bool {
	return p.State == yubav1.PhaseFailed || p.State == yubav1.PhaseAway || p.State == yubav1.PhaseWaiting && len(p.WaitsFor) == 0
}

// MessageOf describes the state of a phase in one line.
func MessageOf(p *yubav1.PlatformPhaseStatus) string {
	switch p.State {
	case yubav1.PhaseReady:
		if took := Took(p, time.Time{}); took > 0 {
			return strings.TrimSpace(fmt.Sprintf("ready after %s %s", took, p.Changes))
		}
		return "ready"
	case yubav1.PhaseAwaitingApproval:
		return strings.TrimSpace(fmt.Sprintf("plan %s waits for approval %s", p.Plan, p.Changes))
	case yubav1.PhaseFailed:
		return cmp.Or(p.Message, "failed")
	case yubav1.PhaseWaiting:
		return cmp.Or(p.Message, "waits")
	case yubav1.PhaseAway:
		return cmp.Or(p.Message, "another owner has it")
	}
	return strings.ToLower(string(p.State))
}

// Took is how long the work on a phase took, or has taken until now.
func Took(p *yubav1.PlatformPhaseStatus, now time.Time) time.Duration {
	switch {
	case p.StartedAt == nil:
		return 0
	case p.ReadyAt != nil:
		now = p.ReadyAt.Time
	case now.IsZero():
		return 0
	}
	return max(now.Sub(p.StartedAt.Time).Round(time.Second), 0)
}

func timeOf(p *yubav1.PlatformPhaseStatus, now time.Time) time.Time {
	if p.State == yubav1.PhaseReady && p.ReadyAt != nil {
		return p.ReadyAt.Time
	}
	return now
}

func levelOf(s yubav1.PlatformPhaseState) string {
	switch s {
	case yubav1.PhaseFailed:
		return LevelError
	case yubav1.PhaseAwaitingApproval, yubav1.PhaseSuspended:
		return LevelWarn
	}
	return LevelInfo
}
