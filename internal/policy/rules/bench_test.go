// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// large is `tofu show -json` of a plan with so many resources, in the shape of hashicorp/aws: 40
// attributes each, one in ten with a sensitive value, and all parts that tofu writes.
func large(resources int) []byte {
	attributes := func(i, version int) string {
		var b bytes.Buffer
		fmt.Fprintf(&b, `"id":"i-%08d","arn":"arn:aws:ec2:eu-west-1:123456789012:instance/i-%08d","tags":{"team":"team-%d","env":"prod","version":"%d"},"password":"hunter-%d-secret"`, i, i, i%50, version, i%20)
		for a := range 36 {
			fmt.Fprintf(&b, `,"attribute_%d":"value %d of %d"`, a, a, i)
		}
		return b.String()
	}
	var out bytes.Buffer
	list := func(one func(i int)) {
		out.WriteByte('[')
		for i := range resources {
			if i > 0 {
				out.WriteByte(',')
			}
			one(i)
		}
		out.WriteByte(']')
	}
	state := func() {
		out.WriteString(`{"root_module":{"resources":`)
		list(func(i int) {
			fmt.Fprintf(&out, `{"address":"module.m[%d].aws_instance.x[\"k.%d]\"]","mode":"managed","type":"aws_instance","name":"x","provider_name":"registry.opentofu.org/hashicorp/aws","schema_version":1,"values":{%s},"sensitive_values":{"password":true}}`, i%10, i, attributes(i, 1))
		})
		out.WriteString(`}}`)
	}
	out.WriteString(`{"format_version":"1.2","terraform_version":"1.12.6","planned_values":`)
	state()
	out.WriteString(`,"resource_changes":`)
	list(func(i int) {
		action, sensitive := `"update"`, `{}`
		if i%10 == 0 {
			sensitive = `{"password":true}`
		}
		fmt.Fprintf(&out, `{"address":"module.m[%d].aws_instance.x[\"k.%d]\"]","module_address":"module.m[%d]","mode":"managed","type":"aws_instance","name":"x","index":"k.%d]","provider_name":"registry.opentofu.org/hashicorp/aws","change":{"actions":[%s],"before":{%s},"after":{%s},"after_unknown":{"computed":true},"before_sensitive":%s,"after_sensitive":%s}}`,
			i%10, i, i%10, i, action, attributes(i, 1), attributes(i, 2), sensitive, sensitive)
	})
	out.WriteString(`,"prior_state":{"format_version":"1.0","values":`)
	state()
	out.WriteString(`},"configuration":{"provider_config":{"aws":{"name":"aws","full_name":"registry.opentofu.org/hashicorp/aws"}},"root_module":{"module_calls":{"m":{"source":"acme/vpc/aws","version_constraint":"1.2.3","module":{"resources":[{"address":"aws_instance.x","mode":"managed","type":"aws_instance","name":"x","provider_config_key":"aws"}]}}}}},"errored":false}`)
	return out.Bytes()
}

// processTime is the CPU time of the process: that of a busy machine says nothing.
func processTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peak runs a function and returns the largest heap during it, above that before it.
func peak(do func()) uint64 {
	debug.FreeOSMemory()
	var before, m runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-tick.C:
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

func build(b testing.TB, show []byte) *facts.Document {
	d, err := facts.Build(facts.Inputs{Stage: facts.StagePlan, Show: show,
		ModuleList: []byte(`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"registry.opentofu.org/acme/vpc/aws","Version":"1.2.3","Dir":".terraform/modules/m"}]}`)})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// fifty are 50 checks of all rules.
func fifty(b testing.TB) []*Check {
	parameters := map[string]string{
		"approved-modules": `{"modules":["acme/*/aws"]}`, "approved-providers": `{"providers":["hashicorp/*"]}`, "change-window": `{"windows":[{"from":"08:00","to":"18:00"}]}`,
	}
	var checks []*Check
	for len(checks) < 50 {
		for _, name := range Names() {
			c, err := Prepare(name, json.RawMessage(parameters[name]))
			if err != nil {
				b.Fatal(err)
			}
			checks = append(checks, c)
		}
	}
	return checks[:50]
}

// BenchmarkFacts is what the facts of a plan cost. Run it with -benchtime 3x.
func BenchmarkFacts(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		show := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			begin := processTime(b)
			for b.Loop() {
				build(b, show)
			}
			b.ReportMetric((processTime(b)-begin).Seconds()*1e3/float64(b.N), "ms-cpu/op")
			b.ReportMetric(float64(len(show))/1e6, "MB-plan")
			b.ReportMetric(float64(peak(func() { build(b, show) }))/1e6, "MB-peak")
		})
	}
}

// BenchmarkRules is what 50 rules over one document cost.
func BenchmarkRules(b *testing.B) {
	d, checks := build(b, large(10_000)), fifty(b)
	begin := processTime(b)
	for b.Loop() {
		for _, c := range checks {
			c.Judge(d, monday)
		}
	}
	b.ReportMetric((processTime(b)-begin).Seconds()*1e3/float64(b.N), "ms-cpu/op")
}
