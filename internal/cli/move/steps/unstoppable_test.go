// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

// A kind that controllers work on and that is not suspended would run at both homes.
func TestAllActiveKindsAreSuspendedAndResumed(t *testing.T) {
	m := &Mover{From: &Side{}, To: &Side{}}
	suspended, resumed := slices.Concat(m.freezing()...), []string{}
	for _, k := range m.resuming() {
		resumed = append(resumed, k.GK.Kind)
	}
	for _, k := range shape.Kinds {
		if k.Active != slices.Contains(suspended, k.GK.Kind) || k.Active != slices.Contains(resumed, k.GK.Kind) {
			t.Errorf("%s: active %v; suspended are %v, resumed are %v", k, k.Active, suspended, resumed)
		}
	}
}

// Tenants, platforms and DNS names cannot be suspended: a server that does not know the marks would go on working on them.
func TestUnstoppableKindsMoveOnlyBetweenServersThatKnowMoves(t *testing.T) {
	side := func(name string, knows bool) *Side {
		return &Side{Home: decide.Home{Name: name}, KnowsMoves: knows}
	}
	backup := side("file", false)
	backup.files = &backupFiles{}
	stoppable := func(k shape.Kind) bool {
		return !strings.HasPrefix(k.GK.Kind, "Tenant") && !slices.Contains([]string{"Platform", "SubdomainPool", "SubdomainClaim", "FailoverRecord"}, k.GK.Kind)
	}
	for sentence, c := range map[string]struct {
		from, to *Side
		want     string
	}{
		"both know them":               {side("a", true), side("b", true), ""},
		"the source does not":          {side("a", false), side("b", true), "a does not announce"},
		"the target does not":          {side("a", true), side("b", false), "b does not announce"},
		"nothing works on a backup":    {backup, side("b", true), ""},
		"a backup needs a target, too": {backup, side("b", false), "b does not announce"},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := &Mover{From: c.from, To: c.to}
			for _, k := range shape.Kinds {
				want := c.want
				if stoppable(k) {
					want = ""
				}
				got := m.unstoppable(&pair{kind: k})
				if (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", k, got, want)
				}
			}
		})
	}
}
