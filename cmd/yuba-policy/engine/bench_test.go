// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// BenchmarkEvaluate has 50 rules that look at each of 10 000 changes. Its figures are also in time of
// the processor, which a busy machine does not change.
func BenchmarkEvaluate(b *testing.B) {
	var rules, facts strings.Builder
	rules.WriteString("package main\n")
	for i := range 50 {
		fmt.Fprintf(&rules, "deny_%d contains msg if {\n  some c in input.facts.changes\n  c.type == \"aws_kind_%d\"\n  \"delete\" in c.actions\n  msg := sprintf(\"%%s is deleted\", [c.address])\n}\n", i, i)
	}
	facts.WriteString(`{"changes":[`)
	for i := range 10_000 {
		if i > 0 {
			facts.WriteByte(',')
		}
		fmt.Fprintf(&facts, `{"address":"module.fleet[\"eu-%d\"].aws_instance.node[%d]","type":"aws_instance","index":%d,"actions":["update"],
"before":{"id":"i-%d","instance_type":"m5.large","tags":{"team":"a","env":"prod"},"ebs_optimized":true},
"after":{"id":"i-%d","instance_type":"m5.xlarge","tags":{"team":"b","env":"prod"},"monitoring":{"$unknown":true}},"changed":["instance_type","tags.team"]}`, i%10, i, i, i, i)
	}
	facts.WriteString(`]}`)
	text := []byte(facts.String())

	b.Run("read", func(b *testing.B) {
		began := processorTime()
		for b.Loop() {
			if _, err := parseValue(text); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime()-began)/1e6/float64(b.N), "cpu-ms/op")
	})
	b.Run("rules", func(b *testing.B) {
		rules, err := load(b.Context(), &wire.Load{Digest: "x", Package: "main", Files: map[string]string{"p.rego": rules.String()}})
		if err != nil {
			b.Fatal(err)
		}
		value, err := parseValue(text)
		if err != nil {
			b.Fatal(err)
		}
		input := ast.NewObject([2]*ast.Term{ast.StringTerm("facts"), ast.NewTerm(value)})
		began := processorTime()
		for b.Loop() {
			if _, err := rules.evaluate(b.Context(), input, time.Now(), time.Minute); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime()-began)/1e6/float64(b.N), "cpu-ms/op")
	})
}
