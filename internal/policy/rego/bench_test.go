// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// manyFacts are facts of n changes, as package facts writes them.
func manyFacts(n int) json.RawMessage {
	var out strings.Builder
	out.WriteString(`{"apiVersion":"policy.yuba.dev/v1","kind":"Facts","stage":"Plan","changes":[`)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"address":"module.fleet[\"eu-%d\"].aws_instance.node[%d]","module":"fleet","moduleAddress":"module.fleet[\"eu-%d\"]",
"mode":"managed","type":"aws_instance","name":"node","index":%d,"provider":"registry.opentofu.org/hashicorp/aws","action":"update","actions":["update"],
"declared":true,"before":{"id":"i-%d","instance_type":"m5.large","tags":{"team":"a","env":"prod"},"ebs_optimized":true,"monitoring":false},
"after":{"id":"i-%d","instance_type":"m5.xlarge","tags":{"team":"b","env":"prod"},"ebs_optimized":true,"monitoring":{"$unknown":true}},
"changed":["instance_type","tags.team"],"unknown":["monitoring"]}`, i%10, i, i%10, i, i, i)
	}
	out.WriteString(`]}`)
	return json.RawMessage(out.String())
}

// fiftyRules look at every change.
func fiftyRules() string {
	var out strings.Builder
	out.WriteString("package main\n")
	for i := range 50 {
		fmt.Fprintf(&out, "deny_%d contains msg if {\n  some c in input.facts.changes\n  c.type == \"aws_kind_%d\"\n  \"delete\" in c.actions\n  msg := sprintf(\"%%s is deleted\", [c.address])\n}\n", i, i)
	}
	return out.String()
}

// The limit is 0.5 s for 50 rules over 10 000 resources (issue 20), with the facts' way to the
// process in it.
func BenchmarkFiftyRules(b *testing.B) {
	e := newEngine(b)
	facts := manyFacts(10_000)
	rules := bundle(b, map[string]string{"policy.rego": fiftyRules()})
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("fresh=%t", fresh), func(b *testing.B) {
			in := rego.NewInput(map[string]json.RawMessage{"facts": facts})
			for b.Loop() {
				if fresh {
					in = rego.NewInput(map[string]json.RawMessage{"facts": facts})
				}
				found, _, err := e.Evaluate(b.Context(), rules, "main", in, time.Now())
				if err != nil || len(found.Denied) > 0 {
					b.Fatal(found, err)
				}
			}
			b.ReportMetric(float64(len(facts))/1e6, "MB")
		})
	}
}
