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
		return &Side{Home: decide.Home{Name: name}, KnowsMoves: knows, KnowsNames: knows}
	}
	earlier := func(name string) *Side {
		s := side(name, true)
		s.KnowsNames = false
		return s
	}
	backup := side("file", false)
	backup.files = &backupFiles{}
	stoppable := func(k shape.Kind) bool {
		return !strings.HasPrefix(k.GK.Kind, "Tenant") && !slices.Contains([]string{"Platform", "SubdomainPool", "SubdomainClaim", "FailoverRecord"}, k.GK.Kind)
	}
	for sentence, c := range map[string]struct {
		from, to *Side
		want     string
		// names says that only DNS names cannot move.
		names bool
	}{
		"both know them":                         {from: side("a", true), to: side("b", true)},
		"the source does not":                    {from: side("a", false), to: side("b", true), want: "a does not announce"},
		"the target does not":                    {from: side("a", true), to: side("b", false), want: "b does not announce"},
		"nothing works on a backup":              {from: backup, to: side("b", true)},
		"a backup needs a target, too":           {from: backup, to: side("b", false), want: "b does not announce"},
		"the source knows no marks on DNS names": {from: earlier("a"), to: side("b", true), want: "a does not announce that its server knows moves of DNS names", names: true},
		"the target knows no marks on DNS names": {from: side("a", true), to: earlier("b"), want: "b does not announce that its server knows moves of DNS names", names: true},
		"a backup to a target that knows none":   {from: backup, to: earlier("b"), want: "b does not announce that its server knows moves of DNS names", names: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := &Mover{From: c.from, To: c.to}
			for _, k := range shape.Kinds {
				want := c.want
				if stoppable(k) || c.names && !slices.Contains([]string{"SubdomainPool", "SubdomainClaim", "FailoverRecord"}, k.GK.Kind) {
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
