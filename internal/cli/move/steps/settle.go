// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"fmt"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// The results of the first pass over a stack at the target.
const (
	// PassUnchanged: all inputs and the state are proven to be what the last plan was made with. No
	// run was necessary.
	PassUnchanged = "unchanged"
	// PassPending: the same, and the pending plan still waits for its approval.
	PassPending = "plan pending"
	// PassNoChanges: the proof was not possible, and a plan found no changes.
	PassNoChanges = "planned, no changes"
	// PassApplied: the approved plan was applied.
	PassApplied = "applied"
	// PassAttention: something differs, or the stack fails as it did before.
	PassAttention = "attention"
	// PassSuspended: it was suspended before the move, and still is.
	PassSuspended = "suspended"
	// PassUnknown: the first pass has not ended in time, nobody waited, or no Yuba works there.
	PassUnknown = "not known yet"
)

// StackSummary is what became of a stack.
type StackSummary struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pass is the result of its first pass, Message adds to it.
	Pass    string `json:"pass"`
	Message string `json:"message,omitempty"`
	// Versions and Runs count what was copied.
	Versions int `json:"versions"`
	Runs     int `json:"runs"`
}

// Summary is the result of a move.
type Summary struct {
	Move   string              `json:"move,omitempty"`
	From   decide.Home         `json:"from"`
	To     decide.Home         `json:"to"`
	Counts map[decide.Verb]int `json:"counts"`
	Stacks []StackSummary      `json:"stacks"`
	// Waited: the move waited for the first passes. One that is not known yet is news then.
	Waited bool `json:"waited"`
}

// Attention reports whether a stack needs it.
func (s Summary) Attention() bool { return s.count(PassAttention) > 0 }

// Open counts the stacks whose first pass should have ended.
func (s Summary) Open() int {
	if !s.Waited {
		return 0
	}
	return s.count(PassUnknown)
}

func (s Summary) count(pass string) (n int) {
	for _, stack := range s.Stacks {
		if stack.Pass == pass {
			n++
		}
	}
	return n
}

func (m *Mover) summary(report Report, c *copied, stacks []StackSummary) Summary {
	s := Summary{Move: m.id, From: m.From.Home, To: m.To.Home, Counts: map[decide.Verb]int{}, Stacks: stacks, Waited: m.waits()}
	for _, item := range report.Items {
		s.Counts[item.Verb]++
	}
	if s.Stacks == nil {
		s.Stacks = []StackSummary{}
	}
	for i := range s.Stacks {
		stack := &s.Stacks[i]
		if why := m.torns[stack.Namespace+"/"+stack.Name]; why != "" {
			stack.Pass, stack.Message = PassAttention, why
		}
		var content parcel.Summary
		if c != nil {
			content = c.parcels[stack.Namespace+"/"+stack.Name]
		}
		stack.Versions, stack.Runs = len(content.Versions), len(content.Runs)
	}
	return s
}

// waits reports whether the first passes are waited for.
func (m *Mover) waits() bool { return m.To.Yuba && m.Settle > 0 }

// passPerStack adds to the patience for each stack: runs wait for each other.
const passPerStack = 5 * time.Second

func patienceFor(base time.Duration, stacks int) time.Duration {
	return base + time.Duration(stacks)*passPerStack
}

// settle waits for the first pass of each stack that was resumed.
func (m *Mover) settle(ctx context.Context, all []resumed) ([]StackSummary, error) {
	stacks := make([]StackSummary, len(all))
	open := 0
	for i, r := range all {
		stacks[i] = StackSummary{Namespace: r.pair.item.Namespace, Name: r.pair.item.Name, Pass: PassUnknown}
		if r.suspended {
			stacks[i].Pass = PassSuspended
		} else {
			open++
		}
	}
	if !m.waits() || open == 0 {
		return stacks, nil
	}
	limit := patienceFor(m.Settle, open)
	m.News("Waiting for the first pass of %d stacks at %s …", open, m.To.Name)
	for began := time.Now(); ; {
		open = 0
		for i, r := range all {
			if stacks[i].Pass != PassUnknown {
				continue
			}
			var err error
			if stacks[i].Pass, stacks[i].Message, err = m.firstPass(ctx, r); err != nil {
				return stacks, err
			}
			if stacks[i].Pass == PassUnknown {
				open++
			}
		}
		if open == 0 || time.Since(began) > limit {
			return stacks, nil
		}
		select {
		case <-ctx.Done():
			return stacks, ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

func (m *Mover) firstPass(ctx context.Context, r resumed) (pass, message string, err error) {
	live, err := m.To.get(ctx, r.pair.kind, r.pair.version, r.pair.item.Namespace, r.pair.item.Name)
	if err != nil || live == nil {
		return PassAttention, "it was deleted meanwhile", err
	}
	before, err := stackOf(r.before)
	if err != nil {
		return "", "", err
	}
	now, err := stackOf(live)
	if err != nil {
		return "", "", err
	}
	pass, message = judge(before, now)
	return pass, message, nil
}

// judge compares a stack before and after its first pass.
func judge(before, now *infrav1.Terraform) (pass, message string) {
	was, is := &before.Status, &now.Status
	ready := conditions.Of(now, infrav1.ConditionReady)
	reconciling := conditions.Of(now, infrav1.ConditionReconciling)
	same := runOf(was) == runOf(is)
	switch {
	case is.ObservedGeneration != now.Generation || is.CurrentRun != nil:
		return PassUnknown, ""
	case same && ready.Reason == infrav1.ReasonDependencyNotReady && conditions.Of(before, infrav1.ConditionReady).Reason != infrav1.ReasonDependencyNotReady,
		same && ready.Reason == infrav1.ReasonArtifactFailed && conditions.Of(before, infrav1.ConditionReady).Reason != infrav1.ReasonArtifactFailed:
		return PassUnknown, ready.Message // it will get there
	case reconciling.Status == "True" && ready.Status == "Unknown" && ready.Reason == infrav1.ReasonProgressing:
		return PassUnknown, ""
	case same && is.ConfigDigest != "" && is.ConfigDigest == was.ConfigDigest && is.Plan.Pending != "":
		return PassPending, is.Plan.Pending + " (" + is.Plan.Summary + ")"
	case same && is.ConfigDigest != "" && is.ConfigDigest == was.ConfigDigest && ready.Status == "True":
		return PassUnchanged, ""
	case same && is.ConfigDigest != "" && is.ConfigDigest == was.ConfigDigest && ready.Reason == conditions.Of(before, infrav1.ConditionReady).Reason:
		return PassUnchanged, "as before: " + ready.Message
	case is.LastRun != nil && !same && is.LastRun.Status == "succeeded" && is.Plan.LastApplied != was.Plan.LastApplied:
		return PassApplied, is.Plan.LastApplied
	case is.LastRun != nil && !same && is.LastRun.Status == "succeeded" && is.Plan.Pending == "" && ready.Status == "True":
		return PassNoChanges, ""
	case is.Plan.Pending != "":
		return PassAttention, fmt.Sprintf("plan %s with changes (%s) waits for approval", is.Plan.Pending, is.Plan.Summary)
	}
	return PassAttention, cmp.Or(ready.Message, "it is not ready")
}

func runOf(s *infrav1.TerraformStatus) string {
	if s.LastRun == nil {
		return ""
	}
	return s.LastRun.ID
}
