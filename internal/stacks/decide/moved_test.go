// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (g *given) movedAway() *given {
	return g.with(func(f *Facts) { f.Stack.Moved = &Moved{Message: "Moved to prod", Away: true} })
}

func (g *given) arriving() *given {
	return g.with(func(f *Facts) { f.Stack.Moved = &Moved{Message: "Being moved here"} })
}

func TestDecideAboutMovedStacks(t *testing.T) {
	away := Decision{Verb: VerbWait, Reason: ReasonMoved, Message: "Moved to prod"}
	arriving := Decision{Verb: VerbWait, Reason: ReasonMoved, Message: "Being moved here"}
	kept := Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "The stack was moved to another home; its resources are kept"}
	for sentence, c := range map[string]struct {
		given *given
		want  Decision
	}{
		"a suspended one rests":                                     {settled().suspended().movedAway(), Decision{Verb: VerbRest, Reason: ReasonSuspended, Message: "Suspended by spec.suspend"}},
		"one that somebody resumed runs nothing":                    {fresh().auto().movedAway(), away},
		"an approved plan is not applied":                           {awaiting("plan-main-1").approving("plan-main-1").movedAway(), away},
		"a request is not handled":                                  {settled().requested().movedAway(), away},
		"an arriving one runs nothing":                              {fresh().auto().arriving(), arriving},
		"its deletion destroys nothing":                             {settled().deleted().movedAway(), kept},
		"its deletion does not wait for spec.suspend":               {settled().suspended().deleted().movedAway(), kept},
		"its deletion does not wait for dependants":                 {settled().deleted().with(func(f *Facts) { f.Dependants = []string{"app"} }).movedAway(), kept},
		"the deletion of an arriving one waits":                     {settled().deleted().arriving(), arriving},
		"the deletion of an arriving one waits, although suspended": {settled().suspended().deleted().arriving(), arriving},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.given.facts)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// movedLaw: only one home works on a stack.
func movedLaw(f Facts, d Decision) string {
	if f.Stack.Moved != nil && (d.Verb.StartsRun() || d.Verb == VerbUnlock || d.Verb == VerbRelease && !f.Stack.Moved.Away) {
		return "works on the stack of another home"
	}
	return ""
}
