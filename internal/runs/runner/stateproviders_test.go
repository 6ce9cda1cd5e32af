// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/test/cloud"
)

// A state may need a provider that the program no longer needs, to destroy its resources.
func TestProviderThatOnlyTheStateNeeds(t *testing.T) {
	c := cloud.Start()
	defer c.Close()
	env := []run.EnvVar{{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, {Name: "YUBATEST_TOKEN", Value: c.Token()}}
	b := newBench(t)
	b.opts.ProviderMirror = mirrorOfTestProvider(t)
	b.start()
	first := b.stack("orphan", run.OperationPlanAndApply, program(declares+"resource \"yubatest_object\" \"x\" {\n  name = \"x\"\n  content = \"y\"\n}\n"+twoThings))
	first.spec.Env = env
	b.succeed(first)
	second := b.stack("orphan", run.OperationPlanAndApply, program(twoThings))
	second.spec.Env, second.state, second.spec.Upgrade, second.spec.LockFile = env, first.lastState(), true, first.result.LockFile
	if result := b.succeed(second); result.AppliedCounts == nil || result.AppliedCounts.Destroy != 1 {
		t.Errorf("%+v", result)
	}
}

// The stack's own installation is dropped if the store has all providers of the program; the state
// may need more.
func TestProviderThatOnlyTheStateNeedsComesTheStacksOwnWay(t *testing.T) {
	c := cloud.Start()
	defer c.Close()
	content, err := buildProvider()
	if err != nil {
		t.Fatal(err)
	}
	b := newStoreBench(t).publish("1.2.3")
	b.registry.Publish("acme/yubatest", "1.0.0", map[string][]byte{"terraform-provider-yubatest_v1.0.0": content})
	b.start()
	run1 := func(text string) *fakeRun {
		r := b.trusting(b.stack("own-way", run.OperationPlanAndApply, program(text)))
		r.spec.Env = append(r.spec.Env, run.EnvVar{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, run.EnvVar{Name: "YUBATEST_TOKEN", Value: c.Token()})
		r.spec.CLIConfig = []byte("provider_installation {\n  direct {}\n}\n")
		return r
	}
	first := run1(fmt.Sprintf("terraform {\n  required_providers {\n    yubatest = { source = %q }\n  }\n}\nresource \"yubatest_object\" \"x\" {\n  name = \"x\"\n  content = \"y\"\n}\n", b.registry.Source("acme/yubatest")))
	b.succeed(first)
	second := run1(fmt.Sprintf("terraform {\n  required_providers {\n    thing = { source = %q }\n  }\n}\n", b.registry.Source(thing)))
	second.spec.Operation, second.state, second.spec.LockFile = run.OperationPlan, first.lastState(), first.result.LockFile
	result := b.do(second)
	if strings.Contains(string(second.log), "because resources in the state need") == false || result.FailedStep == run.StepInit {
		t.Errorf("%+v\n%s", result, second.log)
	}
}
