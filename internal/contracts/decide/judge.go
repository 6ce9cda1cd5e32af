// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Producer are the facts about a producer's plan and one of its contracts.
type Producer struct {
	// Stack is NAMESPACE/NAME of the producer.
	Stack, Contract string
	// Planned are the publications after the apply, one for each version. None means that the stack
	// does not publish the contract any more.
	Planned []Publication
	// Published are the versions with revisions of this stack.
	Published []versions.Version
	Consumers []Consumer
}

// Publication is what a plan publishes as a version of a contract.
type Publication struct {
	Edition
	// Output is the name of the output.
	Output string
	// Result compares the planned output with the type, validations included.
	Result conform.Result
}

// Harm is what a plan does to a consumer.
type Harm struct {
	// Consumer is NAMESPACE/NAME; Range is what it pins.
	Consumer, Range string
	// Path is what it reads, behind the contract's name.
	Path string
	// Says says what becomes of the path. It goes on after "CONSUMER reads PATH, which".
	Says string
}

func (h Harm) String() string { return h.Consumer + " reads " + h.Path + ", which " + h.Says }

// Verdict says whether a plan keeps a contract.
type Verdict struct {
	Outcome conform.Outcome
	// Broken are the consumers that the plan breaks, one entry for each path; Open those that read
	// something unknown.
	Broken, Open []Harm
	// Message is for people: what breaks, whom, and how to go on.
	Message string
}

// Consumers returns the names of the consumers that break, each once, in order.
func (v Verdict) Consumers() []string {
	var names []string
	for _, h := range v.Broken {
		names = append(names, h.Consumer)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Judge decides whether a plan keeps a contract. A plan that breaks its contract's type breaks, even
// if nobody reads what is wrong.
func Judge(p Producer) Verdict {
	planned := slices.SortedFunc(slices.Values(p.Planned), func(a, b Publication) int { return b.Version.Compare(a.Version) })
	var v Verdict
	outcome := conform.Fits
	for _, one := range planned {
		outcome = worse(outcome, one.Result.Outcome())
	}
	for _, c := range p.Consumers {
		i := slices.IndexFunc(planned, func(one Publication) bool { return c.Range.Has(one.Version) })
		if i < 0 {
			v.Broken = append(v.Broken, p.retired(c)...)
			continue
		}
		broken, open := p.reads(c, planned[i])
		v.Broken, v.Open = append(v.Broken, broken...), append(v.Open, open...)
	}
	if len(v.Broken) > 0 {
		outcome = conform.Breaks
	}
	sortHarms(v.Broken)
	sortHarms(v.Open)
	v.Outcome = outcome
	v.Message = p.message(planned, v)
	return v
}

func worse(a, b conform.Outcome) conform.Outcome {
	for _, one := range []conform.Outcome{conform.Breaks, conform.Unknown} {
		if a == one || b == one {
			return one
		}
	}
	return conform.Fits
}

// retired returns the harm for a consumer in whose range nothing is published any more. One that
// never had anything to read loses nothing.
func (p Producer) retired(c Consumer) []Harm {
	if !slices.ContainsFunc(p.Published, c.Range.Has) {
		return nil
	}
	return []Harm{{c.Name, c.Range.String(), p.Contract, "the stack does not publish any more in the versions " + c.Range.String()}}
}

// reads returns what a publication does to a consumer that would read it.
func (p Producer) reads(c Consumer, one Publication) (broken, open []Harm) {
	for _, m := range mismatches(p.Contract, one.Edition, c) {
		broken = append(broken, Harm{c.Name, c.Range.String(), m.path, m.says})
	}
	for _, f := range one.Result.Breaks {
		if path, met := p.meets(c, f); met {
			broken = append(broken, Harm{c.Name, c.Range.String(), path, f.Says()})
		}
	}
	for _, f := range one.Result.Unknown {
		if path, met := p.meets(c, f); met {
			open = append(open, Harm{c.Name, c.Range.String(), path, f.Says()})
		}
	}
	return broken, open
}

// meets returns the path of a finding if the consumer reads it, a part of it or more than it.
func (p Producer) meets(c Consumer, f conform.Finding) (string, bool) {
	return f.Path.In(p.Contract), c.Reads.Meets(f.Path)
}

func sortHarms(list []Harm) {
	slices.SortFunc(list, func(a, b Harm) int {
		return cmp.Or(strings.Compare(a.Consumer, b.Consumer), strings.Compare(a.Path, b.Path), strings.Compare(a.Says, b.Says))
	})
}
