// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// wide returns a contract with a number of attributes, each a list of objects, and a planned value
// in which the last one breaks.
func wide(attributes, elements int) (contract, change string) {
	var types, values []string
	for i := range attributes {
		types = append(types, fmt.Sprintf("a%d = list(object({id = string, cidr = string, tags = map(string), port = optional(number, 80)}))", i))
		element := `{"id":"subnet-0123456789abcdef0","cidr":"10.0.0.0/24","tags":{"env":"prod","team":"x"}}`
		if i == attributes-1 {
			element = `{"id":null,"cidr":"10.0.0.0/24","tags":{}}`
		}
		values = append(values, fmt.Sprintf(`"a%d":[%s]`, i, strings.TrimSuffix(strings.Repeat(element+",", elements), ",")))
	}
	return "object({" + strings.Join(types, ", ") + "})", `{"actions":["update"],"after":{` + strings.Join(values, ",") + `}}`
}

// declared are consumers whose variables' types are parsed, as they are when they are declared.
func declared(e Edition, variables []string) []Consumer {
	var out []Consumer
	for i, text := range variables {
		v := ty(text)
		out = append(out, Consumer{Name: fmt.Sprintf("prod/stack-%04d", i), As: "base", Range: within("~> 1.0"),
			Reads: shape.Reads(e.Type, v), Variable: shape.Variable{Type: v, Nullable: true}})
	}
	return out
}

// verdict does what a verdict takes at a plan: it reads the planned output, checks it and decides.
func verdict(e Edition, change string, consumers []Consumer) Verdict {
	return Judge(Producer{Stack: "prod/network", Contract: "base", Consumers: consumers, Planned: []Publication{{Edition: e,
		Result: conform.Check(e.Type, paths.Set{}, must(document.Planned([]byte(change))))}}})
}

// BenchmarkVerdict sweeps the number of consumers, also with their types parsed anew each time. The
// target is one second for 1000 of them.
func BenchmarkVerdict(b *testing.B) {
	for _, consumers := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("consumers=%d", consumers), func(b *testing.B) {
			contract, change := wide(50, 20)
			variables := variablesFor(consumers)
			e := edition("1.2.0", contract)
			known := declared(e, variables)
			b.Run("declared", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					verdict(e, change, known)
				}
			})
			b.Run("from-texts", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					verdict(edition("1.2.0", contract), change, declared(e, variables))
				}
			})
		})
	}
}

// variablesFor returns variables that read five attributes each; the last attribute's readers break.
func variablesFor(consumers int) []string {
	var out []string
	for i := range consumers {
		var attributes []string
		for j := range 5 {
			attributes = append(attributes, fmt.Sprintf("a%d = list(object({id = string, port = number}))", (i+j*7)%50))
		}
		out = append(out, "object({"+strings.Join(attributes, ", ")+"})")
	}
	return out
}

func TestAVerdictOfAThousandConsumersNamesThoseThatBreak(t *testing.T) {
	contract, change := wide(50, 20)
	e := edition("1.2.0", contract)
	v := verdict(e, change, declared(e, variablesFor(1000)))
	if v.Outcome != conform.Breaks || len(v.Consumers()) != 100 {
		t.Errorf("%s, %d consumers: %s", v.Outcome, len(v.Consumers()), v.Message)
	}
}

// BenchmarkPart is what a revision costs for 500 consumers: the digest of each one's part.
func BenchmarkPart(b *testing.B) {
	contract, change := wide(50, 20)
	e, output := ty(contract), must(document.Planned([]byte(change)))
	var reads []paths.Set
	for _, text := range variablesFor(500) {
		reads = append(reads, shape.Reads(e, ty(text)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, part := range reads {
			must(document.Part(output.Value, part))
		}
	}
}
