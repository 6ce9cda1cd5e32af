// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// revisions are written as VERSION/NUMBER=PART.
func revisions(texts ...string) []Revision {
	var out []Revision
	for _, text := range texts {
		at, part, _ := strings.Cut(text, "=")
		v, number, _ := strings.Cut(at, "/")
		out = append(out, Revision{version(v), int64(number[0] - '0'), part})
	}
	return out
}

func input(pins, lastRead string, list ...string) Input {
	return Input{As: "base", Contract: "base", From: "prod/network", Range: within(pins), LastRead: lastRead, Revisions: revisions(list...)}
}

func optional(in Input) Input { in.Optional = true; return in }

func TestConsume(t *testing.T) {
	plan := func(part string, inputs ...Input) Stack {
		return Stack{Inputs: inputs, Plan: true, Pins: []Pin{{"base", 1, part}}}
	}
	dns := Input{As: "dns", Contract: "zone", From: "prod/dns"}
	for sentence, test := range map[string]struct {
		stack Stack
		want  string
	}{
		"it consumes nothing": {Stack{}, "rest PartsUnchanged : what the stack reads has not changed"},
		"the producer is missing": {Stack{Inputs: []Input{input("~> 1.2", "")}},
			"wait ProducerMissing prod/network: Waiting: prod/network has not published contract base"},
		"two producers are missing": {Stack{Inputs: []Input{dns, input("~> 1.2", "")}},
			"wait ProducerMissing prod/dns, prod/network: Waiting: prod/network has not published contract base; prod/dns has not published contract zone"},
		"no version is in the range": {Stack{Inputs: []Input{input("~> 1.2", "", "2.0.0/2=b", "1.0.0/1=a", "1.0.0/3=c")}},
			`wait NoVersionInRange prod/network: Waiting: prod/network has not published contract base in a version of "~> 1.2"; it has 1.0.0, 2.0.0`},
		"an optional producer is missing, for the first time": {Stack{Inputs: []Input{optional(input("", ""))}},
			"run PartChanged base: what the stack reads has changed: contract base of prod/network is not published, and null"},
		"an optional producer is still missing": {Stack{Inputs: []Input{optional(input("", NullPart))}}, "rest PartsUnchanged : what the stack reads has not changed"},
		"an optional producer appears": {Stack{Inputs: []Input{optional(input("", NullPart, "1.0.0/1=a"))}},
			"run PartChanged base: what the stack reads has changed: contract base of prod/network is at 1.0.0, revision 1"},
		"the part has changed": {Stack{Inputs: []Input{input("~> 1.0", "a", "1.0.0/1=a", "1.0.0/2=b")}},
			"run PartChanged base: what the stack reads has changed: contract base of prod/network is at 1.0.0, revision 2"},
		"the revision changed elsewhere":                            {Stack{Inputs: []Input{input("~> 1.0", "a", "1.0.0/1=a", "1.0.0/2=a")}}, "rest PartsUnchanged : what the stack reads has not changed"},
		"a higher version wins over a later revision of an old one": {Stack{Inputs: []Input{input("", "b", "1.1.0/2=b", "1.0.0/3=c")}}, "rest PartsUnchanged : what the stack reads has not changed"},
		"a version out of the range does not count":                 {Stack{Inputs: []Input{input("~> 1.0", "a", "1.0.0/1=a", "2.0.0/2=b")}}, "rest PartsUnchanged : what the stack reads has not changed"},
		"a plan read what is published":                             {plan("b", input("", "a", "1.0.0/1=a", "1.0.0/2=b")), "keep PinnedRevisionsCurrent : the plan read what is published now"},
		"a pinned part moved": {plan("a", input("", "a", "1.0.0/1=a", "1.0.0/2=b")),
			"replan PinnedRevisionMoved base: plan again: what the plan read has changed since: contract base of prod/network is at 1.0.0, revision 2"},
		"an input was added after the plan": {plan("a", input("", "a", "1.0.0/1=a"), optional(dns)),
			"replan PinnedRevisionMoved dns: plan again: what the plan read has changed since: contract zone of prod/dns is not published, and null"},
		"an input was removed after the plan": {plan("a"), "replan PinnedRevisionMoved base: plan again: what the plan read has changed since: base is not consumed any more"},
		"a producer vanished after the plan":  {plan("a", input("", "a")), "wait ProducerMissing prod/network: Waiting: prod/network has not published contract base"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := Consume(test.stack)
			got := string(c.Verb) + " " + string(c.Reason) + " " + c.Subject + ": " + c.Message
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func drawStack(t *rapid.T) Stack {
	var s Stack
	part := rapid.SampledFrom([]string{"a", "b", "c"})
	for _, as := range []string{"x", "y", "z"}[:rapid.IntRange(0, 3).Draw(t, "inputs")] {
		in := Input{As: as, Contract: "base", From: "a/" + as, Optional: rapid.Bool().Draw(t, "optional"),
			Range:    within(rapid.SampledFrom([]string{"", "~> 1.0", "~> 2.0"}).Draw(t, "range")),
			LastRead: rapid.SampledFrom([]string{"", NullPart, "a", "b"}).Draw(t, "last read")}
		for i := range rapid.IntRange(0, 3).Draw(t, "revisions") {
			in.Revisions = append(in.Revisions, Revision{version(rapid.SampledFrom([]string{"1.0.0", "1.1.0", "2.0.0"}).Draw(t, "version")), int64(i + 1), part.Draw(t, "part")})
		}
		s.Inputs = append(s.Inputs, in)
		if rapid.Bool().Draw(t, "pinned") {
			s.Pins = append(s.Pins, Pin{as, 1, part.Draw(t, "pinned part")})
		}
	}
	s.Plan = rapid.Bool().Draw(t, "plan")
	return s
}

func TestConsumeLaws(t *testing.T) {
	for sentence, law := range map[string]func(s Stack, c Consumption) string{
		"a stack waits if and only if a required input has no revision in its range": func(s Stack, c Consumption) string {
			missing := slices.ContainsFunc(s.Inputs, func(in Input) bool {
				return !in.Optional && !slices.ContainsFunc(in.Revisions, func(r Revision) bool { return in.Range.Has(r.Version) })
			})
			if missing != (c.Verb == Wait) || missing != (len(c.Uses) < len(s.Inputs)) {
				return "it is missing, or not"
			}
			return ""
		},
		"a stack without a plan runs if and only if a part differs from what was read": func(s Stack, c Consumption) string {
			if s.Plan || c.Verb == Wait {
				return ""
			}
			differs := false
			for _, u := range c.Uses {
				i := slices.IndexFunc(s.Inputs, func(in Input) bool { return in.As == u.As })
				differs = differs || s.Inputs[i].LastRead != u.Revision.Part
			}
			if differs != (c.Verb == Run) {
				return "the parts differ, or not"
			}
			return ""
		},
		"a plan is kept if and only if it read what a plan made now would read": func(s Stack, c Consumption) string {
			if !s.Plan || c.Verb == Wait {
				return ""
			}
			same := len(s.Pins) == len(c.Uses)
			for _, u := range c.Uses {
				same = same && slices.ContainsFunc(s.Pins, func(p Pin) bool { return p.As == u.As && p.Part == u.Pin().Part })
			}
			if same != (c.Verb == Keep) {
				return "the pins moved, or not"
			}
			return ""
		},
		"what is used is in the range, and nothing higher is": func(s Stack, c Consumption) string {
			for _, u := range c.Uses {
				in := s.Inputs[slices.IndexFunc(s.Inputs, func(in Input) bool { return in.As == u.As })]
				for _, r := range in.Revisions {
					if in.Range.Has(r.Version) && (u.Null || r.Version.Compare(u.Revision.Version) > 0) {
						return "there is something higher"
					}
				}
				if !u.Null && !in.Range.Has(u.Revision.Version) {
					return "it is out of the range"
				}
			}
			return ""
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := drawStack(t)
				c := Consume(s)
				if wrong := law(s, c); wrong != "" {
					t.Fatalf("%s %s: %s", c.Verb, c.Message, wrong)
				}
				for i := range s.Inputs {
					s.Inputs[i].Revisions = rapid.Permutation(s.Inputs[i].Revisions).Draw(t, "revisions in another order")
				}
				s.Inputs = rapid.Permutation(s.Inputs).Draw(t, "inputs in another order")
				if other := Consume(s); c.Message != other.Message || c.Verb != other.Verb {
					t.Fatalf("the order counts: %s, %s", c.Message, other.Message)
				}
			})
		})
	}
}
