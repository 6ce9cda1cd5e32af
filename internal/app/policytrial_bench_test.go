// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

// allRules has each built-in rule.
const allRules = `apiVersion: yuba.dev/v1alpha1
kind: ClusterPolicy
metadata: {name: all}
spec:
  selector: {}
  rules:
  - {builtin: approved-modules, with: {modules: ["registry.example.com/acme/*/aws"], root: allow}}
  - {builtin: approved-providers, with: {providers: ["*/*"]}}
  - {builtin: change-window, with: {windows: [{days: [mon, tue, wed, thu, fri, sat, sun], from: "00:00", to: "23:59"}]}}
  - builtin: contract-safe
  - {builtin: max-changes, with: {total: 1000}}
  - builtin: no-destroy
  - builtin: no-external-data
  - builtin: no-forget
  - builtin: no-iam
  - builtin: no-provisioners
  - builtin: no-replace
  - builtin: only-tags-changed
  - builtin: pinned-versions
`

// noPolicies is an API in which no policy is in force.
type noPolicies struct{}

func (noPolicies) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not there")
}

func (noPolicies) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// BenchmarkPolicyTry tries a policy with all built-in rules on the last plans of a fleet of 500 stacks, as
// "yuba policy try" does part by part.
func BenchmarkPolicyTry(b *testing.B) {
	const stacks = 500
	noLock := func(context.Context, run.Stack) ([]byte, error) { return nil, nil }
	for _, changes := range []int{10, 100} {
		show := plantest.Make(b, plantest.Case{Files: plantest.Files{"main.tf": fmt.Sprintf("resource \"terraform_data\" \"a\" {\n  count = %d\n  input = { name = \"a\", tags = { team = \"a\", env = \"prod\" } }\n}\n", changes)}}).Show
		plans, fleet := planStore{}, []*infrav1.Terraform{}
		for i := range stacks {
			obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: fmt.Sprintf("stack-%03d", i)}}
			plans[obj.Name], fleet = show, append(fleet, obj)
		}
		j := &judge.Judge{Cache: noPolicies{}}
		desk := &policyDesk{policies: &policies{judge: j, lockFile: noLock, now: time.Now}, runs: plans, turn: make(chan struct{}, 1)}
		definition, err := judge.Define([]byte(allRules))
		if err != nil || len(definition.Problems()) > 0 {
			b.Fatal(err, definition.Problems())
		}
		b.Run(fmt.Sprintf("plans of %d changes, %d KiB", changes, len(show)>>10), func(b *testing.B) {
			runtime.GC()
			peak := watchHeap(b.Context())
			tried := 0
			for b.Loop() {
				for rest := fleet; len(rest) > 0; {
					answer, err := desk.try(b.Context(), j.Try(definition), definition.String(), rest)
					if err != nil {
						b.Fatal(err)
					}
					tried += len(answer.Items)
					rest = rest[len(answer.Items):]
					if answer.Continue == "" && len(rest) > 0 || answer.Items[0].Then == "" || strings.Contains(answer.Items[0].Message, "evaluated") {
						b.Fatalf("%+v", answer.Items[0])
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(tried), "ms/stack")
			b.ReportMetric(float64(peak())/(1<<20), "MiB-peak")
		})
	}
}

// watchHeap returns a function that says by how much the heap has grown at most.
func watchHeap(ctx context.Context) func() uint64 {
	ctx, cancel := context.WithCancel(ctx)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	highest := make(chan uint64, 1)
	go func() {
		var top uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				highest <- top
				return
			case <-tick.C:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				top = max(top, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
			}
		}
	}()
	return func() uint64 { cancel(); return <-highest }
}
