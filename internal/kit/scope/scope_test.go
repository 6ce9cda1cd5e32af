// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"testing"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestScopesOfTwoOwnersExcludeEachOther(t *testing.T) {
	for _, c := range []struct {
		a, b Scope
		want bool
	}{{"acme", "beta", true}, {"acme", "acme", false}, {"acme", "", false}, {"", "acme", false}, {"", "", false}} {
		if got := c.a.Excludes(c.b); got != c.want {
			t.Errorf("%q excludes %q: %v", c.a, c.b, got)
		}
	}
}

func TestAScopeIsReadFromTheLabelsItGives(t *testing.T) {
	for _, s := range []Scope{"acme", ""} {
		if got := Of(s.Labels()); got != s {
			t.Errorf("the labels of %q are those of %q", s, got)
		}
	}
	if Label != tenantv1.LabelUID {
		t.Errorf("the label is %s, and tenants have %s", Label, tenantv1.LabelUID)
	}
}
