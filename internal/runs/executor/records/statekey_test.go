// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestARunKnowsWhoseStateItWrites(t *testing.T) {
	rec := run.Record{State: run.StateRef{Namespace: "shop", Workspace: "default", Suffix: "acme-db", Stack: "acme-db", Scope: "acme"}}
	want := state.Key{Namespace: "shop", Workspace: "default", Suffix: "acme-db", Stack: "acme-db", Scope: "acme"}
	if diff := cmp.Diff(want, StateKey(rec)); diff != "" {
		t.Error(diff)
	}
	// Records of stacks that are nobody's are as they always were.
	rec.State.Scope = ""
	if text, err := json.Marshal(rec.State); err != nil || strings.Contains(string(text), "enant") {
		t.Errorf("%s %v", text, err)
	}
}
