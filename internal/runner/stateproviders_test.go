// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/test/cloud"
)

// The state of a stack may need a provider that its program needs no more: what is to be destroyed was made by it.
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

func TestMissingProviders(t *testing.T) {
	state := []byte(`{"version": 4, "resources": [
		{"mode": "managed", "type": "a_x", "provider": "provider[\"registry.opentofu.org/hashicorp/a\"]"},
		{"mode": "managed", "type": "a_y", "provider": "provider[\"registry.opentofu.org/hashicorp/a\"].alias"},
		{"module": "module.m", "type": "b_x", "provider": "module.m.provider[\"example.com/acme/b\"]"},
		{"type": "terraform_data", "provider": "provider[\"terraform.io/builtin/terraform\"]"},
		{"type": "d_x", "provider": "provider[\"registry.terraform.io/hashicorp/d\"]"},
		{"type": "e_x", "instances": [{"attributes": {"text": "provider[\"example.com/acme/e\"]", "more": "\"provider\": \"provider[\"example.com/acme/e\"]"}}]},
		{"type": "c_x", "provider":"provider[\"example.com/acme/c\"]"}]}`)
	lockFile := []byte("provider \"registry.opentofu.org/hashicorp/d\" {\n}\nprovider \"example.com/acme/c\" {\n  version = \"1.0.0\"\n}\n")
	if diff := cmp.Diff([]string{"registry.opentofu.org/hashicorp/a", "example.com/acme/b"}, missingProviders(state, lockFile)); diff != "" {
		t.Error(diff)
	}
	if missing := missingProviders([]byte(`{"encrypted_data": "x"}`), nil); missing != nil {
		t.Errorf("%v", missing)
	}
}
