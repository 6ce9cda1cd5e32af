// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		facts Facts
		want  Verb
		says  string
	}{
		"out: nothing is published":                                    {Facts{Theirs: "t"}, Wait, "no revision"},
		"out: the first revision, and no document":                     {Facts{Ours: "o"}, Create, "wrote"},
		"out: the document is already there, written by its old owner": {Facts{Ours: "o", Theirs: "o"}, Record, ""},
		"out: another document is there":                               {Facts{Ours: "o", Theirs: "t"}, Conflict, "did not write it; it is not overwritten. Remove the document, or allow to replace exactly this one with spec.replace: t"},
		"out: a new revision":                                          {Facts{Ours: "o2", Theirs: "o", Base: "o"}, Overwrite, ""},
		"out: the document was removed":                                {Facts{Ours: "o", Base: "o"}, Create, ""},
		"out: the document was changed":                                {Facts{Ours: "o", Theirs: "t", Base: "o"}, Conflict, "was changed by somebody else; "},
		"out: both changed":                                            {Facts{Ours: "o2", Theirs: "t", Base: "o"}, Conflict, "and there is a new revision"},
		"out: both changed to the same":                                {Facts{Ours: "o2", Theirs: "o2", Base: "o"}, Record, ""},
		"out: a person allows to replace the document":                 {Facts{Ours: "o", Theirs: "t", Base: "b", Replace: "t"}, Overwrite, "as spec.replace allows"},
		"out: a person allowed to replace another document":            {Facts{Ours: "o", Theirs: "t2", Base: "b", Replace: "t"}, Conflict, ""},
		"out: the document is not JSON":                                {Facts{Ours: "o", Theirs: "t", Base: "o", Unreadable: "line 1: no"}, Conflict, "(line 1: no)"},
		"in: no document yet":                                          {Facts{In: true}, Wait, "does not exist yet"},
		"in: the first document":                                       {Facts{In: true, Theirs: "t"}, Publish, ""},
		"in: a changed document":                                       {Facts{In: true, Theirs: "t2", Ours: "t", Base: "t"}, Publish, ""},
		"in: nothing changed":                                          {Facts{In: true, Theirs: "t", Ours: "t", Base: "t"}, Record, ""},
		"in: the document is gone":                                     {Facts{In: true, Ours: "t", Base: "t"}, Gone, "keep the last revision"},
		"in: the document does not fit":                                {Facts{In: true, Theirs: "t2", Ours: "t", Unreadable: "base.vpc_id is missing"}, Misfit, "base.vpc_id is missing. Consumers keep"},
	} {
		if got := Decide(test.facts); got.Verb != test.want || !strings.Contains(got.Message, test.says) {
			t.Errorf("%s: %s, %q, want %s, %q", name, got.Verb, got.Message, test.want, test.says)
		}
	}
}

// TestLaws draws facts of few digests, so that all relations between them occur.
func TestLaws(t *testing.T) {
	digests := []string{"", "a", "b", "c"}
	draw := func() string { return digests[rand.N(len(digests))] }
	for range 20_000 {
		f := Facts{In: rand.N(2) == 0, Ours: draw(), Theirs: draw(), Base: draw(), Replace: draw()}
		if rand.N(4) == 0 && f.Theirs != "" {
			f.Unreadable = "no JSON"
		}
		d := Decide(f)
		writes := slices.Contains([]Verb{Create, Overwrite}, d.Verb)
		switch {
		case d.Verb == Overwrite && f.Theirs != f.Base && f.Theirs != f.Replace:
			t.Fatalf("%+v: overwrites a document that nobody named", f)
		case d.Verb == Create && f.Theirs != "":
			t.Fatalf("%+v: creates over a document", f)
		case f.In && writes, !f.In && d.Verb == Publish:
			t.Fatalf("%+v: %s is not the direction", f, d.Verb)
		case d.Verb == Publish && (f.Unreadable != "" || f.Theirs == ""):
			t.Fatalf("%+v: publishes what is not a value", f)
		case f.Ours == f.Theirs && (writes || d.Verb == Publish):
			t.Fatalf("%+v: %s, but both are equal", f, d.Verb)
		case writes && f.Ours == "":
			t.Fatalf("%+v: writes nothing", f)
		case strings.Contains(d.Message, "bug"):
			t.Fatalf("%+v: no rule", f)
		}
	}
}

func TestImports(t *testing.T) { puretest.Imports(t, "fmt") }
