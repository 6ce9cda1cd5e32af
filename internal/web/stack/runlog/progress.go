// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runlog

import (
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxResources limits the resources whose progress is kept, and maxName the bytes of an address or an id of
// one: each open page of a run has them.
const maxResources, maxName = 20_000, 1000

// Resource is the progress of an apply at one resource.
type Resource struct {
	Address string
	Action  plan.Action
	// State is "running", "done" or "failed".
	State   string
	Started time.Time
	// Took is how long it took, or has taken when the tool last reported it.
	Took time.Duration
	ID   string
}

// Progress is the progress of an apply.
type Progress struct {
	all   []*Resource
	byKey map[key]*Resource
	// Planned are the changes that the plan announced.
	Planned plan.Counts
	// Running, Done and Failed count resources, More those that are not kept.
	Running, Done, Failed, More int
}

// key identifies a step: a replacement has two.
type key struct {
	address string
	action  plan.Action
}

// Add takes one event of the log, and reports whether it changed something.
func (p *Progress) Add(e plan.Event) bool {
	switch e.Type {
	case plan.ChangeSummary:
		if e.Operation == "plan" {
			p.Planned = e.Counts
		}
	case plan.ApplyStart:
		p.begin(e)
		return true
	case plan.ApplyProgress:
		if r := p.byKey[keyOf(e)]; r != nil && r.State == "running" {
			r.Took = e.Elapsed
			return true
		}
	case plan.ApplyComplete:
		return p.end(e, "done")
	case plan.ApplyErrored:
		return p.end(e, "failed")
	}
	return false
}

func keyOf(e plan.Event) key { return key{name(e.Resource), e.Action} }

// name is a name of the log as it is kept. A copy: the rest of the line is not kept.
func name(text string) string {
	return strings.Clone(diagnostic.Printable(shorten.CutBytes(text, maxName)))
}

func (p *Progress) begin(e plan.Event) {
	if len(p.all) == maxResources {
		p.More++
		return
	}
	if p.byKey == nil {
		p.byKey = map[key]*Resource{}
	}
	if known := p.byKey[keyOf(e)]; known != nil && known.State == "running" {
		return
	}
	r := &Resource{Address: name(e.Resource), Action: e.Action, State: "running", Started: e.Time}
	p.byKey[keyOf(e)] = r
	p.all = append(p.all, r)
	p.Running++
}

func (p *Progress) end(e plan.Event, state string) bool {
	r := p.byKey[keyOf(e)]
	if r == nil || r.State != "running" {
		return false
	}
	r.State, r.ID, r.Took = state, name(e.ID), e.Elapsed
	p.Running--
	if state == "failed" {
		p.Failed++
	} else {
		p.Done++
	}
	return true
}

// Total is the number of resources that the apply has begun with.
func (p *Progress) Total() int { return len(p.all) + p.More }

// Shown returns the resources to show, at most so many: those that failed, those in progress, and the
// last of the others; in the order in which they began.
func (p *Progress) Shown(most int) []Resource {
	order := slices.Clone(p.all)
	rank := map[string]int{"failed": 0, "running": 1, "done": 2}
	slices.Reverse(order) // the latest first
	slices.SortStableFunc(order, func(a, b *Resource) int { return rank[a.State] - rank[b.State] })
	chosen := map[*Resource]bool{}
	for _, r := range order[:min(most, len(order))] {
		chosen[r] = true
	}
	var shown []Resource
	for _, r := range p.all {
		if chosen[r] {
			shown = append(shown, *r)
		}
	}
	return shown
}
