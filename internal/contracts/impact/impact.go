// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"slices"

	"github.com/yuba-dev/yuba/internal/contracts/graph"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Effect is what a change does to a stack.
type Effect string

const (
	// Runs: a part that the stack reads changes.
	Runs Effect = "runs"
	// MayRun: whether a part that it reads changes is not known yet.
	MayRun Effect = "mayRun"
	// Rests: all that it reads stays.
	Rests Effect = "rests"
)

// Reached is a stack that reads from the one that changes, directly or through others.
type Reached struct {
	// Stack is NAMESPACE/NAME.
	Stack  string `json:"stack"`
	Effect Effect `json:"effect"`
	// Because says what the stack reads and what becomes of it, for people: one for each way.
	Because []string `json:"because"`
	// From are the stacks that it reads from and that the change reaches, sorted.
	From []string `json:"from"`
	// Inputs are the parts that it reads and that change, or are known after the apply only, without
	// sensitive values; the first ones, if there are many.
	Inputs []Input `json:"inputs,omitempty"`
	// Breaks says how the change breaks a contract that the stack reads. The caller adds it: plans do
	// not tell the types of contracts.
	Breaks []string `json:"breaks,omitempty"`
	// Suspended is set if it runs only after it is resumed.
	Suspended bool `json:"suspended,omitempty"`
}

// Impact is the blast radius of a change.
type Impact struct {
	// Levels are in the order of runs: a stack comes after all that it reads from.
	Levels [][]Reached `json:"levels"`
	// Cycle names stacks that read from each other in a circle; their levels mean nothing then.
	Cycle []string `json:"cycle,omitempty"`
}

// Count returns how many stacks have an effect.
func (i *Impact) Count(e Effect) int {
	n := 0
	for _, level := range i.Levels {
		for k := range level {
			if level[k].Effect == e {
				n++
			}
		}
	}
	return n
}

// Break notes that the change breaks a contract that a reached stack reads.
func (i *Impact) Break(consumer, why string) {
	for _, level := range i.Levels {
		for k := range level {
			if level[k].Stack == consumer && !slices.Contains(level[k].Breaks, why) {
				level[k].Breaks = append(level[k].Breaks, why)
			}
		}
	}
}

// Change is what a plan does to the outputs of a stack: those that it changes, by name. A nil Change
// may change every output.
type Change map[string]plan.OutputValueChange

// ChangeOf is what a plan does to the outputs.
func ChangeOf(p *plan.Plan) Change {
	c := Change{}
	for _, o := range p.Outputs {
		c[o.Name] = o
	}
	return c
}

// Impact computes whom a change of a stack reaches.
func (m *Map) Impact(of string, c Change) Impact { return m.ImpactOf(of, Plans{of: c}) }

// Plans are the changes of stacks that were planned, by name. Those of stacks that a change reaches
// must be made with the planned outputs of all that they read from.
type Plans map[string]Change

// ImpactOf computes whom a change of a stack reaches, as far as plans tell: what is behind a planned
// stack is compared with what its plan changes.
func (m *Map) ImpactOf(of string, plans Plans) Impact { return m.ImpactOfAll([]string{of}, plans) }

// ImpactOfAll computes whom changes of several stacks reach together. One of them is reached only if it
// reads from another one: its own plan was made without what that one changes.
func (m *Map) ImpactOfAll(of []string, plans Plans) Impact {
	from := map[string][]*Edge{} // by consumer
	var flow []graph.Edge
	for i := range m.Edges {
		if e := &m.Edges[i]; e.Kind != ByOrder {
			from[e.Consumer] = append(from[e.Consumer], e)
			flow = append(flow, graph.Edge{Producer: e.Producer, Consumer: e.Consumer})
		}
	}
	levels, cycle := graph.New(flow).ReachAll(of...)
	effects := map[string]Effect{}
	for _, name := range of {
		effects[name] = Runs
	}
	result := Impact{Levels: [][]Reached{}, Cycle: cycle}
	for _, names := range levels {
		var level []Reached
		for _, name := range names {
			if len(of) == 1 && name == of[0] {
				continue // it reads from itself, directly or not
			}
			r, reached := m.reached(name, from[name], plans, effects)
			origin := slices.Contains(of, name)
			if !reached || origin && r.Effect == Rests {
				continue // only behind stacks that rest
			}
			if !origin {
				effects[name] = r.Effect
			}
			level = append(level, r)
		}
		if len(level) > 0 {
			result.Levels = append(result.Levels, level)
		}
	}
	return result
}

// reached is what arrives at a stack by its edges, if something does.
func (m *Map) reached(name string, edges []*Edge, plans Plans, effects map[string]Effect) (r Reached, ok bool) {
	r = Reached{Stack: name, Effect: Rests, Suspended: m.suspended[name], Because: []string{}}
	for _, e := range edges {
		effect, because := plans.through(e, effects)
		if because == "" {
			continue
		}
		r.From = append(r.From, e.Producer)
		if worse(effect, r.Effect) {
			r.Effect = effect
		}
		r.Because = append(r.Because, because)
		r.Inputs = append(r.Inputs, plans.inputs(e)...)
	}
	slices.Sort(r.From)
	r.From, r.Because = slices.Compact(r.From), slices.Compact(r.Because)
	r.Inputs = r.Inputs[:min(len(r.Inputs), maxInputs)]
	return r, len(r.From) > 0
}

func worse(a, b Effect) bool {
	rank := map[Effect]int{Rests: 0, MayRun: 1, Runs: 2}
	return rank[a] > rank[b]
}

// through returns what arrives at a consumer by one edge, and why; no reason if nothing does.
func (p Plans) through(e *Edge, effects map[string]Effect) (Effect, string) {
	if effect, reached := effects[e.Producer]; !reached || effect == Rests {
		return Rests, ""
	}
	c, planned := p[e.Producer]
	switch {
	case !planned:
		return MayRun, e.way() + " of " + e.Producer + ", which runs before"
	case c == nil:
		return MayRun, e.way()
	}
	if !e.every && len(e.outputs) == 0 {
		return Rests, e.way() + " is not published"
	}
	all, name := stays, ""
	for output, change := range c {
		if !e.every && !slices.Contains(e.outputs, output) {
			continue
		}
		if d := differ(e.reads, change.Before, change.After); d > all || d == all && d != stays && output < name {
			all, name = d, output
		}
	}
	switch all {
	case changes:
		return Runs, e.way() + ": " + name + " changes"
	case unknown:
		return MayRun, e.way() + ": " + name + " is known after the apply"
	default:
		return Rests, e.way() + ": nothing that it reads changes"
	}
}
