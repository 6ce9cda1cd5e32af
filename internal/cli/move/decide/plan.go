// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
)

// Verb is what a move does with an object.
type Verb string

const (
	// VerbCreate: the target does not have it.
	VerbCreate Verb = "create"
	// VerbUpdate: the target's object is replaced by the source's.
	VerbUpdate Verb = "update"
	// VerbKeep: the target has the same already.
	VerbKeep Verb = "keep"
	// VerbArrived: an earlier move brought it to the target, which works on it.
	VerbArrived Verb = "arrived"
	// VerbSkip: it is not moved.
	VerbSkip Verb = "skip"
	// VerbConflict: the target has another object of that name.
	VerbConflict Verb = "conflict"
	// VerbBlocked: it cannot be moved now.
	VerbBlocked Verb = "blocked"
)

// Item is the decision about one object.
type Item struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Verb      Verb     `json:"verb"`
	Why       string   `json:"why,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// Step is the first step of the move that is still to be done.
type Step string

const (
	// StepBegin: nothing has been done.
	StepBegin Step = "begin"
	// StepContinue: an interrupted move goes on copying.
	StepContinue Step = "continue"
	// StepResume: everything is at the target; what is left is to resume it there.
	StepResume Step = "resume"
	// StepNothing: everything has been moved.
	StepNothing Step = "nothing"
)

// Plan is what a move does.
type Plan struct {
	Step Step `json:"step"`
	// Move is the id of the interrupted move that continues; else empty.
	Move string `json:"move,omitempty"`
	// Namespaces are created if the target does not have them.
	Namespaces []NamespacePlan `json:"namespaces"`
	Items      []Item          `json:"items"`
	// Problems concern a whole namespace.
	Problems []string `json:"problems,omitempty"`
}

// NamespacePlan is the decision about a namespace.
type NamespacePlan struct {
	Name   string `json:"name"`
	Create bool   `json:"create,omitempty"`
	Step   Step   `json:"step"`
}

// Refused reports whether something prevents the move.
func (p Plan) Refused() bool {
	return len(p.Problems) > 0 || p.Count(VerbConflict)+p.Count(VerbBlocked) > 0
}

// Count counts the items with a verb.
func (p Plan) Count(verb Verb) int {
	n := 0
	for _, item := range p.Items {
		if item.Verb == verb {
			n++
		}
	}
	return n
}

// Decide plans a move.
func Decide(f Facts) Plan {
	p := Plan{Step: StepNothing, Namespaces: []NamespacePlan{}, Items: []Item{}}
	if f.From.ID == f.To.ID {
		p.Problems = append(p.Problems, fmt.Sprintf("%s and %s are the same home, or one is a copy of the other", f.From.Name, f.To.Name))
		return p
	}
	steps := map[string]Step{}
	for _, ns := range f.Namespaces {
		step, problem := stepOf(f, ns)
		if problem != "" {
			p.Problems = append(p.Problems, problem)
			continue
		}
		steps[ns.Name] = step
		p.Namespaces = append(p.Namespaces, NamespacePlan{Name: ns.Name, Create: !ns.Exists, Step: step})
		if move := ns.Target.Move; step == StepContinue || step == StepResume {
			if p.Move != "" && p.Move != move {
				p.Problems = append(p.Problems, fmt.Sprintf("namespace %s belongs to another interrupted move (%s) than the others (%s). Finish one after the other, with -n", ns.Name, move, p.Move))
				continue
			}
			p.Move = move
		}
	}
	for _, o := range f.Objects {
		step, ok := steps[o.Namespace]
		if !ok {
			continue
		}
		p.Items = append(p.Items, itemOf(f, o, step))
	}
	for _, d := range f.Definitions {
		p.Items = append(p.Items, definitionItem(f, d))
	}
	p.Problems = append(p.Problems, tooMany(f, p)...)
	p.Problems = append(p.Problems, brokenCircuits(f, p)...)
	p.Step = stepOfAll(p)
	return p
}

// tooMany says which namespaces have more objects than their records can list at the end of the move.
func tooMany(f Facts, p Plan) (problems []string) {
	for _, ns := range f.Namespaces {
		i := slices.IndexFunc(p.Namespaces, func(n NamespacePlan) bool { return n.Name == ns.Name })
		if ns.TooMany == 0 || i < 0 || p.Namespaces[i].Step == StepResume || !moves(p, ns.Name) {
			continue
		}
		problems = append(problems, fmt.Sprintf("namespace %s has too many objects for one move (%d): its record has room for about 8000. Delete those that nobody needs, or split the namespace", ns.Name, ns.TooMany))
	}
	return problems
}

// brokenCircuits says which open circuit breakers cover what moves: the target would apply what they hold.
func brokenCircuits(f Facts, p Plan) (problems []string) {
	for _, b := range f.Breakers {
		for _, ns := range p.Namespaces {
			if b.AtTarget || ns.Step == StepResume || !moves(p, ns.Name) || len(b.Namespaces) > 0 && !slices.Contains(b.Namespaces, ns.Name) {
				continue
			}
			problems = append(problems, fmt.Sprintf("circuit breaker %[1]s is open at %[2]s and covers namespace %[3]s. Circuit breakers do not move, so %[4]s would apply what it holds. "+
				"Create an open one of that name at %[4]s, wait until it is closed, or close it at %[2]s:\n    yuba resume circuitbreaker %[1]s", b.Name, f.From.Name, ns.Name, f.To.Name))
		}
	}
	return problems
}

// stepOf returns the next step for a namespace, or the problem with it.
func stepOf(f Facts, ns Namespace) (Step, string) {
	t, s := ns.Target, ns.Source
	switch {
	case ns.Missing:
		return "", fmt.Sprintf("namespace %s does not exist at %s", ns.Name, f.From.Name)
	case ns.Deleting:
		return "", fmt.Sprintf("namespace %s is being deleted", ns.Name)
	case s.Role == RoleTarget && !s.Over():
		return "", fmt.Sprintf("namespace %s is still arriving at %s from %s. Finish that move first:\n    yuba move --from %s --to %s -n %s",
			ns.Name, f.From.Name, s.Name, s.Name, f.From.Name, ns.Name)
	case s.Role == RoleSource && s.Home != f.To.ID && !s.Over():
		return "", fmt.Sprintf("namespace %s is being moved from %s to %s. Finish that move first, or cancel it:\n    yuba move --from %s --to %s -n %s --cancel",
			ns.Name, f.From.Name, s.Name, f.From.Name, s.Name, ns.Name)
	case t.Role == RoleSource && !t.Over():
		return "", fmt.Sprintf("namespace %s is being moved from %s to %s. Finish that move first, or cancel it:\n    yuba move --from %s --to %s -n %s --cancel",
			ns.Name, f.To.Name, t.Name, f.To.Name, t.Name, ns.Name)
	case t.Role == RoleTarget && !t.Over() && t.Home != f.From.ID:
		return "", fmt.Sprintf("namespace %s is arriving at %s from %s, a third home", ns.Name, f.To.Name, t.Name)
	case t.Role == RoleTarget && t.Phase == PhaseVerified:
		return StepResume, ""
	case t.Role == RoleTarget && t.Phase == PhaseMoving, t.Role == RoleTarget && t.Phase == PhaseCanceled && t.Home == f.From.ID:
		return StepContinue, "" // a canceled move can use what has arrived
	}
	return StepBegin, ""
}

// rules about one object, in order; the first that returns a verb counts.
var rules = []func(f Facts, o Object, step Step) (Verb, string){
	// Whatever happens to the rest, these never move.
	func(_ Facts, o Object, _ Step) (Verb, string) { return when(o.Skip != "", VerbSkip), o.Skip },
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(!o.Served, VerbSkip), fmt.Sprintf("%s does not serve the kind %s", f.To.Name, o.Kind)
	},
	// The target may work on everything of a verified move.
	func(f Facts, o Object, step Step) (Verb, string) {
		return when(step == StepResume, VerbArrived), "it is at " + f.To.Name
	},
	// An object that was moved earlier is only a copy, even where the target has lost it.
	func(f Facts, o Object, step Step) (Verb, string) {
		if o.MovedTo != f.To.ID || step == StepContinue && o.Target.Current {
			return "", ""
		}
		if !o.Target.Exists {
			return VerbSkip, fmt.Sprintf("it was moved to %s earlier, and no longer exists there. Delete the copy at %s: that keeps its resources", f.To.Name, f.From.Name)
		}
		return VerbArrived, "it was moved to " + f.To.Name + " earlier"
	},
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.MovedTo != "" && o.MovedTo != f.To.ID, VerbSkip), fmt.Sprintf("it was moved from %s to %s earlier, and is only a copy", f.From.Name, o.MovedToName)
	},
	func(f Facts, o Object, step Step) (Verb, string) {
		arrived := !o.Active && o.Target.Listed && targetOf(f, o.Namespace) && (step == StepBegin || !o.Target.Current)
		if arrived && !o.Target.Exists {
			return VerbSkip, fmt.Sprintf("it was moved to %s earlier, and no longer exists there", f.To.Name)
		}
		return when(arrived, VerbArrived), "it was moved to " + f.To.Name + " earlier"
	},
	func(_ Facts, o Object, _ Step) (Verb, string) {
		return when(o.Arriving, VerbBlocked), "it has not arrived yet"
	},
	func(_ Facts, o Object, _ Step) (Verb, string) {
		return when(o.Deleting && o.Active, VerbBlocked), "it is being deleted. Wait until it is gone"
	},
	func(_ Facts, o Object, _ Step) (Verb, string) {
		return when(o.Deleting, VerbSkip), "it is being deleted"
	},
	func(_ Facts, o Object, _ Step) (Verb, string) { return when(o.Blocked != "", VerbBlocked), o.Blocked },
	func(_ Facts, o Object, _ Step) (Verb, string) { return when(!o.Target.Exists, VerbCreate), "" },
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.Target.Deleting, VerbConflict), fmt.Sprintf("%s is deleting an object of that name", f.To.Name)
	},
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.Active && o.Target.Works, VerbConflict), fmt.Sprintf("%s has its own object of that name", f.To.Name)
	},
	// Only active objects have a status, content and a mark to bring, whatever their specs are.
	func(_ Facts, o Object, _ Step) (Verb, string) { return when(o.Target.Same && !o.Active, VerbKeep), "" },
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.Target.Unchangeable != "", VerbConflict), fmt.Sprintf("%s has another object of that name: %s. Delete it there", f.To.Name, o.Target.Unchangeable)
	},
	// Everything that an interrupted move lists was written by it, or equal when it began.
	func(_ Facts, o Object, step Step) (Verb, string) {
		return when(step == StepContinue && o.Target.Current, VerbUpdate), ""
	},
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.Target.Listed && o.Target.Unchanged, VerbUpdate), "it came from " + f.To.Name
	},
	func(f Facts, o Object, _ Step) (Verb, string) {
		return when(o.Target.Listed, VerbConflict), fmt.Sprintf("the copy at %s has changed since it was moved. Delete it there, or make both equal", f.To.Name)
	},
}

func itemOf(f Facts, o Object, step Step) Item {
	item := Item{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Verb: VerbConflict,
		Why: fmt.Sprintf("%s has another object of that name. Delete it there, or make both equal", f.To.Name)}
	for _, rule := range rules {
		if verb, why := rule(f, o, step); verb != "" {
			item.Verb, item.Why = verb, why
			break
		}
	}
	if item.Verb != VerbSkip && item.Verb != VerbArrived {
		item.Notes = o.Notes
	}
	return item
}

// targetOf reports whether the target's record says that the namespace arrived there from the source.
func targetOf(f Facts, namespace string) bool {
	i := slices.IndexFunc(f.Namespaces, func(ns Namespace) bool { return ns.Name == namespace })
	return i >= 0 && f.Namespaces[i].Target.Role == RoleTarget && f.Namespaces[i].Target.Home == f.From.ID
}

func when(is bool, verb Verb) Verb {
	if is {
		return verb
	}
	return ""
}

// stepOfAll is the earliest step of all namespaces.
func stepOfAll(p Plan) Step {
	all := StepNothing
	for _, ns := range p.Namespaces {
		switch {
		case ns.Step == StepContinue:
			return StepContinue
		case ns.Step == StepResume && all == StepNothing:
			all = StepResume
		case ns.Step == StepBegin && moves(p, ns.Name):
			all = StepBegin
		}
	}
	return all
}

// moves reports whether anything of a namespace is to be moved.
func moves(p Plan, namespace string) bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool {
		return i.Namespace == namespace && (i.Verb == VerbCreate || i.Verb == VerbUpdate || i.Verb == VerbConflict || i.Verb == VerbBlocked)
	})
}

// NotCancelable says why a move cannot be canceled; empty if it can. Here and there are the records of
// the source and the target.
func NotCancelable(from, to Home, here, there Record) string {
	ours := there.Role == RoleTarget && there.Home == from.ID
	switch {
	case ours && there.Phase == PhaseVerified:
		return "it is too late: " + to.Name + " may work on it already. Finish it with the same command without --cancel, then move everything back"
	case ours && there.Phase == PhaseMoving, ours && there.Phase == PhaseCanceled && here.Move == there.Move:
		return "" // a cancellation that was interrupted continues
	}
	return "none is in progress"
}
