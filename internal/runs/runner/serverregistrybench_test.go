// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// BenchmarkModuleOfARegistry compares a module that the tool downloads from a registry with the same
// one through the server: the first plan of a stack, and a pass without news.
func BenchmarkModuleOfARegistry(b *testing.B) {
	for _, through := range []bool{false, true} {
		for _, pass := range []bool{false, true} {
			b.Run(fmt.Sprintf("server=%t/pass=%t", through, pass), func(b *testing.B) {
				s := newBench(b)
				s.opts.ProviderStore = s.data + "/provider-store"
				upstream := registrytest.New(b)
				ca := upstream.CAFile(s.opts.ProviderMirror)
				upstream.PublishModule("acme/net/test", "1.0.0", map[string][]byte{"main.tf": []byte(oneThing)})
				s.server.registry = upstream.Relative()
				s.start()
				plan := func(name string) *fakeRun {
					host := upstream.Host()
					if through {
						host = ownHost
					}
					r := s.stack(name, run.OperationPlan, program(call("net", host+"/acme/net/test", "1.0.0")))
					r.spec.Stack.Namespace = name // each namespace downloads for itself
					if r.spec.Upgrade = !pass; through {
						r.spec.Registry = &run.Registry{Host: ownHost}
					} else { // so that each stack has a scope of its own, too
						r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "SSL_CERT_FILE", Value: ca}, run.EnvVar{Name: "TF_TOKEN_example_com", Value: name})
					}
					return r
				}
				s.succeed(plan("s0"))
				before := upstream.Counts()
				i := 0
				for b.Loop() {
					if i++; pass {
						s.succeed(plan("s0"))
					} else {
						s.succeed(plan(fmt.Sprint("s", i)))
					}
				}
				after := upstream.Counts()
				b.ReportMetric(float64(after.ModuleVersions+after.Modules-before.ModuleVersions-before.Modules)/float64(i), "requests/op")
			})
		}
	}
}
