// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

// Tenants cannot be suspended: a server that does not know the marks would go on working on them.
func TestTenantKindsMoveOnlyBetweenServersThatKnowMoves(t *testing.T) {
	side := func(name string, knows bool) *Side {
		return &Side{Home: decide.Home{Name: name}, KnowsMoves: knows}
	}
	backup := side("file", false)
	backup.files = &backupFiles{}
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
				if !strings.HasPrefix(k.GK.Kind, "Tenant") {
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
