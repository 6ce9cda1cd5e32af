// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Revision is a published value of a contract, as one consumer sees it.
type Revision struct {
	Version versions.Version
	// Number counts the revisions of a producer's contract, over all versions.
	Number int64
	// Part is the digest of what the consumer reads.
	Part string
}

// NullPart stands for the part of an optional contract that nobody publishes.
const NullPart = "null"

// Input is one contract that a stack consumes.
type Input struct {
	// As is the variable, unique in a stack; Contract and From name what it takes: a contract, and
	// NAMESPACE/NAME of the producer.
	As, Contract, From string
	Range              versions.Range
	Reads              paths.Set
	Optional           bool
	// Revisions are the producer's revisions of the contract, in any order.
	Revisions []Revision
	// LastRead is the part with which the last apply ran: a digest, NullPart, or "" if there was none.
	LastRead string
}

// Pin is the revision that a plan used for an input.
type Pin struct {
	As string
	// Number is 0 for null.
	Number int64
	Part   string
}

// Stack are the facts about a stack and what it consumes.
type Stack struct {
	Inputs []Input
	// Plan is set if the stack has a plan that is not applied; Pins are its revisions.
	Plan bool
	Pins []Pin
}

// Verb is what a stack does.
type Verb string

// The verbs.
const (
	// Wait: a required contract is not published.
	Wait Verb = "wait"
	// Replan: the pending plan used parts that moved. It must not be applied.
	Replan Verb = "replan"
	// Keep: the pending plan used the parts that are current.
	Keep Verb = "keep"
	// Run: a part that the stack reads differs from what it read last.
	Run Verb = "run"
	// Rest: the stack read what is current.
	Rest Verb = "rest"
)

// Reasons of what a stack does.
const (
	ReasonProducerMissing Reason = "ProducerMissing"
	ReasonRangeEmpty      Reason = "NoVersionInRange"
	ReasonPinMoved        Reason = "PinnedRevisionMoved"
	ReasonPinsCurrent     Reason = "PinnedRevisionsCurrent"
	ReasonPartChanged     Reason = "PartChanged"
	ReasonUnchanged       Reason = "PartsUnchanged"
)

// Use is the revision for a variable. It is null if Null is set.
type Use struct {
	As       string
	Revision Revision
	Null     bool
	// Reads is the projection of the value that the variable gets.
	Reads paths.Set
}

// Pin returns the pin of a plan that uses it.
func (u Use) Pin() Pin { return Pin{u.As, u.Revision.Number, u.Revision.Part} }

// Consumption is what a stack does because of what it consumes.
type Consumption struct {
	Verb   Verb
	Reason Reason
	// Subject names what it waits for, or the variables whose parts differ.
	Subject string
	Message string
	// Uses are the revisions of all variables, sorted by variable; none while the stack waits.
	Uses []Use
}

// Consume decides what a stack does. Waiting comes first: a stack with a missing input cannot be
// planned, whatever else has changed. A moved pin comes before everything that could apply the plan.
func Consume(s Stack) Consumption {
	inputs := slices.SortedFunc(slices.Values(s.Inputs), func(a, b Input) int { return strings.Compare(a.As, b.As) })
	uses, missing := choose(inputs)
	if len(missing) > 0 {
		return wait(missing)
	}
	moved, changed := s.moved(inputs, uses), changed(inputs, uses)
	for _, row := range []struct {
		is      bool
		verb    Verb
		reason  Reason
		parts   []string
		message string
	}{
		// What was reviewed is not what would be applied.
		{s.Plan && len(moved) > 0, Replan, ReasonPinMoved, moved, "plan again: what the plan read has changed since: "},
		{s.Plan, Keep, ReasonPinsCurrent, nil, "the plan read what is published now"},
		{len(changed) > 0, Run, ReasonPartChanged, changed, "what the stack reads has changed: "},
		{true, Rest, ReasonUnchanged, nil, "what the stack reads has not changed"},
	} {
		if row.is {
			return Consumption{Verb: row.verb, Reason: row.reason, Subject: strings.Join(row.parts, ", "),
				Message: row.message + describe(inputs, uses, row.parts), Uses: uses}
		}
	}
	return Consumption{}
}

// choose returns the revision for each input, and the inputs that have none and need one.
func choose(inputs []Input) (uses []Use, missing []Input) {
	for _, in := range inputs {
		u := Use{As: in.As, Reads: in.Reads, Null: true, Revision: Revision{Part: NullPart}}
		for _, r := range in.Revisions {
			if in.Range.Has(r.Version) && (u.Null || newer(r, u.Revision)) {
				u.Null, u.Revision = false, r
			}
		}
		if u.Null && !in.Optional {
			missing = append(missing, in)
		}
		uses = append(uses, u)
	}
	return uses, missing
}

// newer reports whether a revision is of a higher version, or a later one of the same version. A
// fix of an old version that is published later does not replace a higher version.
func newer(a, b Revision) bool {
	if order := a.Version.Compare(b.Version); order != 0 {
		return order > 0
	}
	return a.Number > b.Number
}

func wait(missing []Input) Consumption {
	c := Consumption{Verb: Wait, Reason: ReasonProducerMissing}
	var names, texts []string
	for _, in := range missing {
		names = append(names, in.From)
		text := fmt.Sprintf("%s has not published contract %s", in.From, in.Contract)
		if len(in.Revisions) > 0 {
			c.Reason = ReasonRangeEmpty
			text += fmt.Sprintf(" in a version of %q; it has %s", in.Range.String(), strings.Join(published(in.Revisions), ", "))
		}
		texts = append(texts, text)
	}
	slices.Sort(names)
	c.Subject = strings.Join(slices.Compact(names), ", ")
	c.Message = "Waiting: " + strings.Join(texts, "; ")
	return c
}

// published lists the versions of revisions, each once.
func published(list []Revision) []string {
	var all []versions.Version
	for _, r := range list {
		all = append(all, r.Version)
	}
	slices.SortFunc(all, versions.Version.Compare)
	var texts []string
	for _, v := range slices.CompactFunc(all, func(a, b versions.Version) bool { return a.Compare(b) == 0 }) {
		texts = append(texts, v.String())
	}
	return texts
}

// moved returns the variables whose parts differ from those that the plan read: changed ones, new
// ones, and ones that the stack no longer has.
func (s Stack) moved(inputs []Input, uses []Use) []string {
	pinned := map[string]string{}
	for _, pin := range s.Pins {
		pinned[pin.As] = pin.Part
	}
	var out []string
	for i, in := range inputs {
		if part, found := pinned[in.As]; !found || part != uses[i].Revision.Part {
			out = append(out, in.As)
		}
		delete(pinned, in.As)
	}
	for as := range pinned {
		out = append(out, as)
	}
	slices.Sort(out)
	return out
}

func changed(inputs []Input, uses []Use) []string {
	var out []string
	for i, in := range inputs {
		if in.LastRead != uses[i].Revision.Part {
			out = append(out, in.As)
		}
	}
	return out
}

// describe names contract, version and producer of variables.
func describe(inputs []Input, uses []Use, of []string) string {
	var texts []string
	for _, as := range of {
		i := slices.IndexFunc(inputs, func(in Input) bool { return in.As == as })
		switch {
		case i < 0:
			texts = append(texts, as+" is not consumed any more")
		case uses[i].Null:
			texts = append(texts, fmt.Sprintf("contract %s of %s is not published, and null", inputs[i].Contract, inputs[i].From))
		default:
			texts = append(texts, fmt.Sprintf("contract %s of %s is at %s, revision %d", inputs[i].Contract, inputs[i].From,
				uses[i].Revision.Version, uses[i].Revision.Number))
		}
	}
	return strings.Join(texts, "; ")
}
