// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// TestReviewersAreOfTheirServer: equal names at two servers are two people.
func TestReviewersAreOfTheirServer(t *testing.T) {
	ours, theirs := reviewer("git.example.com/acme/infra", forge.User{ID: "17", Name: "alice"}), reviewer("evil.example.net/acme/infra", forge.User{ID: "17", Name: "alice"})
	want := audit.Who{User: "git.example.com/acme/infra:17", Groups: []string{"git.example.com/acme/infra:members"}}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Error(diff)
	}
	if ours.User == theirs.User || ours.Groups[0] == theirs.Groups[0] {
		t.Errorf("%+v speaks for %+v", theirs, ours)
	}
}
