// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Objects of tests.
func done() *Object {
	return &Object{Current: true, Observed: true, Ready: "True", Applied: true, Destroys: true}
}

func with(change func(o *Object)) *Object {
	o := done()
	change(o)
	return o
}

// net and db are a network, and a database in it.
func pair(net, db *Object) []Part {
	return []Part{{ID: "net", Name: "Terraform net", Wanted: true, Object: net}, {ID: "db", Name: "Terraform db", Wanted: true, Needs: []string{"net"}, Object: db}}
}

// told is a decision in words: actions, states, and the standing.
func told(f Composed) string {
	d := Compose(f)
	var words []string
	if d.Verb != Rest {
		words = append(words, string(d.Verb))
	}
	for _, a := range d.Actions {
		words = append(words, fmt.Sprintf("%s %s", a.Verb, f.Parts[a.Part].ID))
	}
	for i, s := range d.States {
		if s.State != "" {
			words = append(words, fmt.Sprintf("%s is %s", f.Parts[i].ID, s.State))
		}
	}
	return strings.Join(append(words, d.Phase), ", ")
}

func TestCompose(t *testing.T) {
	kept := func(f Composed) Composed { f.Kept = true; return f }
	deleted := func(parts ...Part) Composed { return Composed{Deleting: true, Kept: true, Parts: parts} }
	leftover := func(o *Object, needs ...string) Part {
		return Part{ID: "old", Name: "ConfigMap old", Object: o, Needs: needs}
	}
	for sentence, test := range map[string]struct {
		facts Composed
		want  string
	}{
		"nothing exists: what needs nothing is written": {Composed{Parts: pair(nil, nil)}, "write net, net is Progressing, db is Waiting, Progressing"},
		"another home has it":                           {Composed{Moved: "Moved to prod", Parts: pair(done(), nil)}, "net is Ready, Pending"},
		"a deleted copy of what moved goes":             {func() Composed { f := deleted(pair(done(), nil)...); f.Moved = "Moved to prod"; return f }(), "delete net, net is Deleting, Deleting"},
		"the first is not ready: the second waits":      {Composed{Parts: pair(with(func(o *Object) { o.Applied = false }), nil)}, "net is Progressing, db is Waiting, Progressing"},
		"the first is ready: the second is written":     {Composed{Parts: pair(done(), nil)}, "write db, net is Ready, db is Progressing, Progressing"},
		"all are ready":                                 {Composed{Parts: pair(done(), done())}, "net is Ready, db is Ready, Ready"},
		"the first has changed":                         {Composed{Parts: pair(with(func(o *Object) { o.Current = false }), done())}, "write net, net is Progressing, db is Waiting, Progressing"},
		"the second has changed":                        {Composed{Parts: pair(done(), with(func(o *Object) { o.Current = false }))}, "write db, net is Ready, db is Progressing, Progressing"},
		"a change waits for the first":                  {Composed{Parts: pair(with(func(o *Object) { o.Observed = false }), with(func(o *Object) { o.Current = false }))}, "net is Progressing, db is Waiting, Progressing"},
		"a plan waits":                                  {Composed{Parts: pair(with(func(o *Object) { o.Awaits = "net/plan-1" }), nil)}, "net is AwaitingApproval, db is Waiting, AwaitingApproval"},
		"a failure is said before a plan that waits":    {Composed{Parts: pair(with(func(o *Object) { o.Awaits = "p" }), with(func(o *Object) { o.Stuck = "broken" }))}, "net is AwaitingApproval, db is Failed, Failed"},
		"one fails":                                        {Composed{Parts: pair(with(func(o *Object) { o.Ready = "False" }), nil)}, "net is Failed, db is Waiting, Failed"},
		"one cannot be made, and the other is":             {Composed{Parts: []Part{{ID: "a", Wanted: true, Invalid: "no such key"}, {ID: "b", Wanted: true}}}, "write b, a is Failed, b is Progressing, Failed"},
		"one has another owner":                            {Composed{Parts: []Part{{ID: "a", Wanted: true, Holder: "somebody"}, {ID: "b", Wanted: true, Needs: []string{"a"}}}}, "a is Failed, b is Waiting, Failed"},
		"a kind is not served":                             {Composed{Parts: []Part{{ID: "a", Wanted: true, Missing: "no kind"}}}, "a is Waiting, Pending"},
		"somebody deleted one":                             {Composed{Parts: pair(done(), with(func(o *Object) { o.Deleting = true }))}, "net is Ready, db is Progressing, Progressing"},
		"readyWhen is not true yet":                        {Composed{Parts: []Part{{ID: "a", Wanted: true, Object: done(), Gate: &Gate{Why: "not yet"}}}}, "a is Progressing, Progressing"},
		"readyWhen is true, whatever the condition says":   {Composed{Parts: []Part{{ID: "a", Wanted: true, Object: with(func(o *Object) { o.Ready = "False" }), Gate: &Gate{Open: true}}}}, "a is Ready, Ready"},
		"one that is left over waits for the rest":         {Composed{Parts: append(pair(done(), nil), leftover(done()))}, "write db, net is Ready, db is Progressing, old is Waiting, Progressing"},
		"one that is left over goes then":                  {Composed{Parts: append(pair(done(), done()), leftover(done()))}, "delete old, net is Ready, db is Ready, old is Deleting, Progressing"},
		"one that is left over is going":                   {Composed{Parts: append(pair(done(), done()), leftover(with(func(o *Object) { o.Deleting = true })))}, "net is Ready, db is Ready, old is Deleting, Progressing"},
		"no definition":                                    {Composed{Definition: "none", Parts: []Part{leftover(done())}}, "old is Ready, Pending"},
		"it asks for what is not allowed":                  {Composed{Refused: "no", Parts: pair(done(), nil)}, "net is Ready, Failed"},
		"its conditions cannot be evaluated":               {Composed{Invalid: "no", Parts: []Part{leftover(done())}}, "old is Ready, Failed"},
		"deleted: the one that needs the other goes first": {deleted(pair(done(), done())...), "delete db, net is Deleting, db is Deleting, Deleting"},
		"deleted: it is going":                             {deleted(pair(done(), with(func(o *Object) { o.Deleting = true }))...), "net is Deleting, db is Deleting, Deleting"},
		"deleted: then the other":                          {deleted(pair(done(), nil)...), "delete net, net is Deleting, Deleting"},
		"deleted: nothing is left":                         {deleted(pair(nil, nil)...), "release, Deleting"},
		"deleted and abandoned":                            {Composed{Deleting: true, Kept: true, Abandon: true, Parts: pair(done(), nil)}, "spare net, net is Deleting, Deleting"},
		"deleted and spared":                               {Composed{Deleting: true, Kept: true, Abandon: true, Parts: pair(with(func(o *Object) { o.Destroys = false }), nil)}, "delete net, net is Deleting, Deleting"},
		"deleted: needs that a later definition turned":    {deleted(Part{ID: "a", Needs: []string{"b"}, Object: done()}, Part{ID: "b", Needs: []string{"a"}, Object: done()}), "delete a, delete b, a is Deleting, b is Deleting, Deleting"},
		"deleted: Yuba does not keep it":                   {Composed{Deleting: true, Parts: pair(done(), done())}, "net is Ready, db is Ready, Deleting"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, told(kept(test.facts))); diff != "" && test.facts.Deleting == test.facts.Kept {
				t.Error(diff)
			}
			if test.facts.Deleting && !test.facts.Kept {
				if diff := cmp.Diff(test.want, told(test.facts)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestMessagesOfSeveralObjects(t *testing.T) {
	blocked := with(func(o *Object) { o.Deleting, o.Ready, o.Message = true, "False", "bucket is not empty" })
	for want, f := range map[string]Composed{
		"net (Terraform net): Plan net/plan-1 waits for approval: 1 to add. Approve it with: yuba app approve app shop": {
			Approve: "yuba app approve app shop", Parts: pair(with(func(o *Object) { o.Awaits, o.Changes = "net/plan-1", "1 to add" }), nil)},
		"Terraform db: The deletion is blocked: bucket is not empty": {Deleting: true, Kept: true, Parts: pair(done(), blocked)},
	} {
		if got := Compose(f).Message; got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
}

// TestLawsOfSeveralObjects: whatever the facts, nothing is written before what it needs, nothing is
// deleted before what needs it, and whatever is not done is said.
func TestLawsOfSeveralObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	coin := func() bool { return random.IntN(2) == 0 }
	for range 20_000 {
		f := Composed{Deleting: coin(), Kept: coin(), Abandon: coin()}
		if random.IntN(8) == 0 {
			f.Definition = "none"
		}
		for i := range random.IntN(5) {
			p := Part{ID: fmt.Sprint(i), Wanted: coin()}
			for need := range i {
				if coin() {
					p.Needs = append(p.Needs, fmt.Sprint(need))
				}
			}
			if coin() || !p.Wanted {
				p.Object = &Object{Current: coin(), Deleting: coin(), Destroys: coin(), Observed: coin(), Ready: []string{"True", "False", ""}[random.IntN(3)], Applied: coin()}
			}
			f.Parts = append(f.Parts, p)
		}
		obeys(t, f, Compose(f))
	}
}

func obeys(t *testing.T, f Composed, d Composite) {
	t.Helper()
	if d.Phase == "" || d.Ready == "" || d.Reason == "" || d.Message == "" {
		t.Fatalf("%+v: it is not said why: %+v", f, d)
	}
	byID := map[string]*Part{}
	for i := range f.Parts {
		byID[f.Parts[i].ID] = &f.Parts[i]
		if d.Verb == Release && (f.Parts[i].Object != nil || !f.Deleting) {
			t.Fatalf("%+v: released although an object is left", f)
		}
	}
	for _, a := range d.Actions {
		p := &f.Parts[a.Part]
		switch a.Verb {
		case Write:
			if f.Deleting || f.Definition != "" || !p.Wanted {
				t.Fatalf("%+v: %s is written", f, p.ID)
			}
			for _, need := range p.Needs {
				if n := byID[need]; !n.Wanted || !n.Ready() {
					t.Fatalf("%+v: %s is written before %s is ready", f, p.ID, need)
				}
			}
		case Delete, Spare:
			if !f.Deleting && (p.Wanted || f.Definition != "") {
				t.Fatalf("%+v: %s of a living instance is deleted", f, p.ID)
			}
			for i := range f.Parts {
				if q := &f.Parts[i]; q.Object != nil && (f.Deleting || !q.Wanted) && strings.Contains(strings.Join(q.Needs, ","), p.ID) {
					t.Fatalf("%+v: %s is deleted before %s, which needs it", f, p.ID, q.ID)
				}
			}
		}
	}
}
