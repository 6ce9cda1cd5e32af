// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecide(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts Facts
		want  Verb
		says  string
	}{
		"a new Vault is initialised":                          {Facts{Sealed: true}, VerbInit, "not initialised"},
		"so is one that was not asked before a crash":         {Facts{Sealed: true, Phase: PhaseReserved}, VerbInit, "not initialised"},
		"an emptied Vault keeps the key file from being lost": {Facts{Sealed: true, Phase: PhaseSealed}, VerbRefuse, "storage was emptied"},
		"so does one that was set up":                         {Facts{Sealed: true, Phase: PhaseDone}, VerbRefuse, "storage was emptied"},
		"somebody else's Vault is left alone":                 {Facts{Initialized: true}, VerbRefuse, "not by this key file"},
		"a lost answer is told":                               {Facts{Initialized: true, Sealed: true, Phase: PhaseReserved}, VerbRefuse, "its answer with the keys was lost"},
		"an unsealed Vault did not lose its keys":             {Facts{Initialized: true, Phase: PhaseReserved}, VerbRefuse, "somebody else"},
		"an interrupted setup needs identities":               {Facts{Initialized: true, Sealed: true, Phase: PhaseSealed}, VerbRefuse, "identities of enough recipients"},
		"and continues with them":                             {Facts{Initialized: true, Sealed: true, Phase: PhaseSealed, Identities: true}, VerbResume, "interrupted"},
		"a second call finds everything done":                 {Facts{Initialized: true, Phase: PhaseDone}, VerbNothing, "initialised and set up"},
		"also while Vault is sealed":                          {Facts{Initialized: true, Sealed: true, Phase: PhaseDone}, VerbNothing, "initialised and set up"},
		"the key file of another Vault is not touched":        {Facts{Sealed: true, Phase: PhaseReserved, Elsewhere: true}, VerbRefuse, "another Vault"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := Decide(c.facts); d.Verb != c.want || !strings.Contains(d.Message, c.says) {
				t.Errorf("%s: %s; want %s: …%s…", d.Verb, d.Message, c.want, c.says)
			}
		})
	}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{Initialized: rapid.Bool().Draw(t, "initialized"), Sealed: rapid.Bool().Draw(t, "sealed"), Elsewhere: rapid.Bool().Draw(t, "elsewhere"),
			Identities: rapid.Bool().Draw(t, "identities"), Phase: rapid.SampledFrom([]Phase{PhaseNone, PhaseReserved, PhaseSealed, PhaseDone}).Draw(t, "phase")}
		d := Decide(f)
		if d.Verb == VerbInit && (f.Initialized || f.Phase == PhaseSealed || f.Phase == PhaseDone) {
			t.Errorf("%+v: it would overwrite keys", f)
		}
		if d.Verb != VerbRefuse && f.Elsewhere {
			t.Errorf("%+v: it uses the keys of another Vault", f)
		}
		if d.Verb == VerbNothing && f.Phase != PhaseDone {
			t.Errorf("%+v: something is left to do", f)
		}
	})
}
