// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/policy/rules"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

const (
	// judged is the number of resources in the plan that is judged.
	judged = 10_000
	// policyRules is the number of rules.
	policyRules = 50
	// judgements is the number of trials.
	judgements = 5
)

// measurePolicies measures what policies cost for a large plan: its facts, compared with merely
// decoding its JSON, and rules over them. tofu itself takes minutes for a plan of this size, so its JSON
// is generated, in the shape of hashicorp/aws.
func (b *bench) measurePolicies(ctx context.Context) error {
	show := largePlan(judged)
	decoding, decodingCPU, err := timed(b.programs, judgements, func() error {
		var any map[string]any
		return json.Unmarshal(show, &any)
	})
	if err != nil {
		return err
	}
	var document *facts.Document
	build := func() (err error) {
		document, err = facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: show})
		return err
	}
	building, cpu, err := timed(b.programs, judgements, build)
	if err != nil {
		return err
	}
	b.add("policies-facts", fmt.Sprintf("facts of a plan of %d resources (%.0f MB of JSON)", judged, float64(len(show))/1e6), "s", building)
	b.addCPU("policies-facts-cpu", "… CPU", cpu, judgements)
	ratio := quantile(milliseconds(building), 0.5) / quantile(milliseconds(decoding), 0.5)
	b.results = append(b.results, result{Name: "policies-facts-ratio", What: "… compared with decoding the JSON with encoding/json", Unit: "x",
		Value: ratio, CPURatio: cpu.Seconds() / decodingCPU.Seconds(), Trials: judgements})
	memory := peakHeap(func() { err = build() })
	b.results = append(b.results, result{Name: "policies-facts-memory", What: "… heap at its peak, above that before", Unit: "MB", Value: float64(memory) / 1e6, Trials: 1})
	if err != nil {
		return err
	}
	return b.measureRules(ctx, document)
}

func (b *bench) addCPU(name, what string, cpu time.Duration, trials int) {
	b.results = append(b.results, result{Name: name, What: what, Unit: "ms", Value: float64(cpu.Microseconds()) / 1000 / float64(trials), Trials: trials})
}

func (b *bench) measureRules(ctx context.Context, document *facts.Document) error {
	checks, err := builtinChecks()
	if err != nil {
		return err
	}
	times, cpu, err := timed(b.programs, judgements, func() error {
		for _, c := range checks {
			c.Judge(document, time.Now())
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.add("policies-builtin", fmt.Sprintf("%d built-in rules over these facts", policyRules), "s", times)
	b.addCPU("policies-builtin-cpu", "… CPU", cpu, judgements)

	engine := rego.NewEngine(func(program string) (string, error) {
		return filepath.Join(filepath.Dir(b.programs.yuba), program), nil
	})
	defer engine.Close()
	bundle, err := rego.NewBundle(map[string]string{"policy.rego": regoRules()})
	if err != nil {
		return err
	}
	if _, err := engine.Load(ctx, bundle, rego.DefaultPackage); err != nil {
		return err
	}
	var parts int
	for _, sent := range []bool{true, false} {
		var input *rego.Input
		times, cpu, err := timed(b.programs, judgements, func() error {
			if sent || input == nil {
				text, err := json.Marshal(document)
				if err != nil {
					return err
				}
				parts, input = len(text), rego.NewInput(map[string]json.RawMessage{"facts": text})
			}
			found, _, err := engine.Evaluate(ctx, bundle, rego.DefaultPackage, input, time.Now())
			if err == nil && len(found.Denied) > 0 {
				err = fmt.Errorf("the rules found %v", found.Denied[0])
			}
			return err
		})
		if err != nil {
			return err
		}
		if sent {
			b.add("policies-rego", fmt.Sprintf("%d rules in Rego over these facts, with their way to yuba-policy (%.0f MB)", policyRules, float64(parts)/1e6), "s", times)
			b.addCPU("policies-rego-cpu", "… CPU", cpu, judgements)
			continue
		}
		b.add("policies-rego-again", "… a further policy with as many rules, which finds the facts there", "s", times[1:])
	}
	return nil
}

// largePlan is `tofu show -json` of a plan that updates many resources, with 40 attributes each.
func largePlan(resources int) []byte {
	attributes := func(i, edition int) string {
		var out strings.Builder
		fmt.Fprintf(&out, `"id":"i-%08d","tags":{"team":"team-%d","env":"prod","edition":"%d"},"password":"secret %d"`, i, i%50, edition, i)
		for a := range 37 {
			fmt.Fprintf(&out, `,"attribute_%d":"value %d of %d"`, a, a, i)
		}
		return out.String()
	}
	var out bytes.Buffer
	list := func(one func(i int)) {
		for i := range resources {
			if i > 0 {
				out.WriteByte(',')
			}
			one(i)
		}
	}
	const identity = `"address":"module.m[%d].aws_instance.node[%d]","mode":"managed","type":"aws_instance","name":"node","index":%d,"provider_name":"registry.opentofu.org/hashicorp/aws"`
	state := func(edition int) {
		out.WriteString(`{"root_module":{"resources":[`)
		list(func(i int) {
			fmt.Fprintf(&out, `{`+identity+`,"values":{%s},"sensitive_values":{"password":true}}`, i%10, i, i, attributes(i, edition))
		})
		out.WriteString(`]}}`)
	}
	out.WriteString(`{"format_version":"1.2","terraform_version":"1.12.6","planned_values":`)
	state(2)
	out.WriteString(`,"resource_changes":[`)
	list(func(i int) {
		fmt.Fprintf(&out, `{`+identity+`,"change":{"actions":["update"],"before":{%s},"after":{%s},"after_unknown":{"computed":true},"before_sensitive":{"password":true},"after_sensitive":{"password":true}}}`,
			i%10, i, i, attributes(i, 1), attributes(i, 2))
	})
	out.WriteString(`],"prior_state":{"format_version":"1.0","values":`)
	state(1)
	out.WriteString(`},"configuration":{"root_module":{}},"errored":false}`)
	return out.Bytes()
}

// builtinChecks are checks of all built-in rules, in turns.
func builtinChecks() ([]*rules.Check, error) {
	parameters := map[string]string{"approved-modules": `{"modules":["acme/*/aws"]}`, "approved-providers": `{"providers":["*/*/*"]}`,
		"change-window": `{"windows":[{"from":"08:00","to":"18:00"}]}`}
	var checks []*rules.Check
	for len(checks) < policyRules {
		for _, name := range rules.Names() {
			c, err := rules.Prepare(name, json.RawMessage(parameters[name]))
			if err != nil {
				return nil, fmt.Errorf("prepare the rule %s: %w", name, err)
			}
			checks = append(checks, c)
		}
	}
	return checks[:policyRules], nil
}

// regoRules look at each change.
func regoRules() string {
	var out strings.Builder
	out.WriteString("package main\n")
	for i := range policyRules {
		fmt.Fprintf(&out, "deny_%d contains msg if {\n  some c in input.facts.changes\n  c.type == \"aws_kind_%d\"\n  \"delete\" in c.actions\n  msg := sprintf(\"%%s is deleted\", [c.address])\n}\n", i, i)
	}
	return out.String()
}

// timed does something several times, after once, and returns the times and the CPU time of this
// process and of those that evaluate rules.
func timed(p programs, trials int, do func() error) (times []time.Duration, cpu time.Duration, err error) {
	if err := do(); err != nil {
		return nil, 0, err
	}
	before, err := ownCPU(p)
	if err != nil {
		return nil, 0, err
	}
	for range trials {
		began := time.Now()
		if err := do(); err != nil {
			return nil, 0, err
		}
		times = append(times, time.Since(began))
	}
	after, err := ownCPU(p)
	return times, after - before, err
}

// peakHeap runs a function and returns the largest heap during it, above that before.
func peakHeap(do func()) uint64 {
	debug.FreeOSMemory()
	var before, m runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		for {
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return most.Load() - min(most.Load(), before.HeapInuse)
}

// ownCPU is the CPU time of this process and of its yuba-policy.
func ownCPU(p programs) (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	total := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	policies := proctest.Matching(func(o proctest.Process) bool {
		return o.Program == "yuba-policy" && strings.Contains(o.Line, filepath.Dir(p.yuba))
	})
	for _, policy := range policies {
		spent, err := cpuOf(policy.PID)
		if err != nil {
			return 0, err
		}
		total += spent
	}
	return total, nil
}
