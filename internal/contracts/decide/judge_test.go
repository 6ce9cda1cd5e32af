// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
	"github.com/yuba-dev/yuba/internal/testkit/contracttest"
)

var consumers = []Consumer{
	consumer("prod/cluster", "~> 1.2", "object({vpc_id = string, subnets = list(object({id = string}))})"),
	consumer("prod/apps", "~> 1.0", "object({vpc_id = string})"),
	consumer("prod/docs", "", "object({note = optional(string)})"),
}

func TestJudge(t *testing.T) {
	for sentence, test := range map[string]struct {
		planned   []Publication
		published string
		consumers []Consumer
		want      conform.Outcome
		message   string
	}{
		"the value fits": {
			planned: []Publication{publication("1.2.0", baseType, `{"after":{"vpc_id":"v","subnets":[]}}`)}, consumers: consumers,
			want: conform.Fits, message: "contract base 1.2.0 of prod/network fits 3 consumers",
		},
		"a part is unknown": {
			planned: []Publication{publication("1.2.0", baseType, `{"after":{"subnets":[]},"after_unknown":{"vpc_id":true}}`)}, consumers: consumers,
			want: conform.Unknown, message: `contract base 1.2.0 of prod/network is unknown until the apply:
    base.vpc_id is unknown until the apply
It is checked again after the apply, before it is published.`,
		},
		"an attribute is missing, and two consumers read it": {
			planned: []Publication{publication("1.2.0", baseType, `{"after":{"subnets":[]}}`)}, consumers: consumers,
			want: conform.Breaks, message: `contract base 1.2.0 of prod/network breaks 2 of 3 consumers:
    prod/apps reads base.vpc_id, which is missing (string)
    prod/cluster reads base.vpc_id, which is missing (string)
Keep what base 1.2.0 promises, or publish 2.0.0 beside it:
    publishes: [{contract: base, version: 1.2.0, value: base}, {contract: base, version: 2.0.0, value: base_v2}]
Still on 1.x:
    prod/apps (~> 1.0)
    prod/cluster (~> 1.2)`,
		},
		"a consumer reads a part of what is null": {
			planned: []Publication{publication("1.2.0", baseType, `{"after":{"vpc_id":"v","subnets":[{"id":"s"},{"id":null}]}}`)}, consumers: consumers,
			want: conform.Breaks, message: `contract base 1.2.0 of prod/network breaks 1 of 3 consumers:
    prod/cluster reads base.subnets[1].id, which is null (string is required)
Keep what`,
		},
		"nobody reads what breaks": {
			planned: []Publication{publication("1.2.0", baseType, `{"after":{"vpc_id":"v"}}`)}, consumers: consumers[1:],
			want: conform.Breaks, message: `contract base 1.2.0 of prod/network breaks, and no consumer reads what is wrong:
    base.subnets is missing (list)
Keep what`,
		},
		"the output is gone": {
			planned: []Publication{publication("1.2.0", baseType, `{"actions":["delete"]}`)}, consumers: consumers[:2],
			want: conform.Breaks, message: `contract base 1.2.0 of prod/network breaks 2 of 2 consumers:
    prod/apps reads base, which is not an output any more
    prod/cluster reads base, which is not an output any more`,
		},
		"2.0 replaces 1.x, which consumers pin": {
			planned: []Publication{publication("2.0.0", "object({vpc = string, note = optional(string)})", `{"after":{"vpc":"v"}}`)}, published: "1.1.0 1.2.0", consumers: consumers,
			want: conform.Breaks, message: `contract base 2.0.0 of prod/network breaks 2 of 3 consumers:
    prod/apps reads base, which the stack does not publish any more in the versions ~> 1.0
    prod/cluster reads base, which the stack does not publish any more in the versions ~> 1.2
Keep what base 1.2.0 promises, or publish 2.0.0 beside it:
    publishes: [{contract: base, version: 1.2.0, value: base}, {contract: base, version: 2.0.0, value: base_v2}]
Still on 1.x:
    prod/apps (~> 1.0)
    prod/cluster (~> 1.2)`,
		},
		"2.0 beside 1.x": {
			planned: []Publication{
				publication("2.0.0", "object({vpc = string, note = optional(string)})", `{"after":{"vpc":"v"}}`),
				publication("1.2.0", baseType, `{"after":{"vpc_id":"v","subnets":[]}}`),
			}, published: "1.2.0", consumers: consumers,
			want: conform.Fits, message: "contract base 1.2.0 and 2.0.0 of prod/network fits 3 consumers",
		},
		"a consumer of any version declares what 2.0 removed": {
			planned:   []Publication{publication("2.0.0", "object({vpc = string})", `{"after":{"vpc":"v"}}`)},
			consumers: []Consumer{consumer("prod/any", "", "object({vpc_id = string})")},
			want:      conform.Breaks, message: `contract base 2.0.0 of prod/network breaks 1 of 1 consumer:
    prod/any reads base.vpc_id, which base 2.0.0 does not have (the variable base requires it: string)
Keep what`,
		},
		"a consumer waits for a version that is not published yet": {
			planned:   []Publication{publication("1.2.0", baseType, `{"after":{"vpc_id":"v","subnets":[]}}`)},
			published: "1.2.0", consumers: []Consumer{consumer("prod/new", "~> 3.0", "any")},
			want: conform.Fits, message: "contract base 1.2.0 of prod/network fits 1 consumer",
		},
		"the stack publishes nothing any more": {
			published: "1.2.0", consumers: consumers[:1],
			want: conform.Breaks, message: `prod/network, which no longer publishes contract base, breaks 1 of 1 consumer:
    prod/cluster reads base, which the stack does not publish any more in the versions ~> 1.2
Keep what base 1.2.0 promises, or publish 2.0.0 beside it:`,
		},
		"and nobody needs it": {published: "1.2.0", want: conform.Fits, message: "prod/network does not publish contract base, and no consumer loses it"},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := Producer{Stack: "prod/network", Contract: "base", Planned: test.planned, Consumers: test.consumers}
			for v := range strings.FieldsSeq(test.published) {
				p.Published = append(p.Published, version(v))
			}
			v := Judge(p)
			message := v.Message
			if prefix, cut := strings.CutSuffix(test.message, "Keep what"); cut || strings.HasSuffix(test.message, "it:") || strings.HasSuffix(test.message, "any more") {
				test.message, message = prefix, message[:min(len(message), len(prefix))]
			}
			if diff := cmp.Diff(string(test.want)+" "+test.message, string(v.Outcome)+" "+message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawProducer draws a plan of a contract, whose value may be one of another type.
func drawProducer(t *rapid.T) Producer {
	p := Producer{Stack: "a/producer", Contract: "base"}
	for _, v := range []string{"1.0.0", "1.3.0", "2.0.0"} {
		if rapid.Bool().Draw(t, "published "+v) {
			p.Published = append(p.Published, version(v))
		}
		if !rapid.Bool().Draw(t, "planned "+v) {
			continue
		}
		declared, written := contracttest.Type(t), contracttest.Type(t)
		if rapid.Bool().Draw(t, "fits") {
			written = declared
		}
		one := Publication{Edition: Edition{version(v), declared}}
		one.Result = conform.Check(declared, paths.Set{}, outputOf(contracttest.Written(t, written)))
		p.Planned = append(p.Planned, one)
	}
	for _, name := range []string{"a/x", "a/y", "b/z"}[:rapid.IntRange(0, 3).Draw(t, "consumers")] {
		variable := contracttest.Type(t)
		c := Consumer{Name: name, As: "base", Variable: shape.Variable{Type: variable},
			Range: within(rapid.SampledFrom([]string{"", "~> 1.0", "~> 1.3", "~> 2.0", "~> 3.0"}).Draw(t, "range"))}
		of := contracttest.Type(t)
		if len(p.Planned) > 0 {
			of = p.Planned[0].Type
		}
		c.Reads = shape.Reads(of, variable)
		p.Consumers = append(p.Consumers, c)
	}
	return p
}

func TestJudgeLaws(t *testing.T) {
	for sentence, law := range map[string]func(p Producer, v Verdict) string{
		"a plan fits only if each publication fits and nobody is broken": func(p Producer, v Verdict) string {
			for _, one := range p.Planned {
				if one.Result.Outcome() != conform.Fits && v.Outcome == conform.Fits {
					return one.Version.String() + " does not fit"
				}
			}
			if (len(v.Broken) > 0) && v.Outcome != conform.Breaks {
				return "somebody is broken"
			}
			return ""
		},
		"each broken consumer is named, with its path, and is in the facts": func(p Producer, v Verdict) string {
			for _, name := range v.Consumers() {
				if !strings.Contains(v.Message, name+" reads base") && !strings.Contains(v.Message, "more") {
					return name + " is not named"
				}
			}
			return ""
		},
		"a consumer with something in its range that fits is not named": func(p Producer, v Verdict) string {
			for _, c := range p.Consumers {
				best := bestFor(c, p.Planned)
				if best == nil || best.Result.Outcome() == conform.Breaks || len(mismatches("base", best.Edition, c)) > 0 {
					continue
				}
				for _, name := range v.Consumers() {
					if name == c.Name {
						return name + " is named"
					}
				}
			}
			return ""
		},
		"a consumer that loses all versions in its range is named": func(p Producer, v Verdict) string {
			for _, c := range p.Consumers {
				lost := bestFor(c, p.Planned) == nil && containsIn(p.Published, c.Range)
				if lost && !strings.Contains(strings.Join(v.Consumers(), " "), c.Name) {
					return c.Name + " is not named"
				}
			}
			return ""
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawProducer(t)
				v := Judge(p)
				if wrong := law(p, v); wrong != "" {
					t.Fatalf("%s: %s", v.Message, wrong)
				}
				p.Consumers = rapid.Permutation(p.Consumers).Draw(t, "consumers in another order")
				p.Planned = rapid.Permutation(p.Planned).Draw(t, "publications in another order")
				if diff := cmp.Diff(v, Judge(p)); diff != "" {
					t.Fatalf("the order counts: %s", diff)
				}
			})
		})
	}
}

func bestFor(c Consumer, planned []Publication) *Publication {
	var best *Publication
	for i, one := range planned {
		if c.Range.Has(one.Version) && (best == nil || one.Version.Compare(best.Version) > 0) {
			best = &planned[i]
		}
	}
	return best
}

func containsIn(list []versions.Version, in versions.Range) bool {
	for _, v := range list {
		if in.Has(v) {
			return true
		}
	}
	return false
}
