// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
