// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"testing"
	"time"
)

// anyFacts are random.
func anyFacts(r *rand.Rand) Facts {
	yes := func() bool { return r.IntN(2) == 0 }
	rarely := func() bool { return r.IntN(8) == 0 }
	ago := func() time.Time { return now.Add(-time.Duration(r.IntN(7200)) * time.Second) }
	word := func(words ...string) string { return words[r.IntN(len(words))] }
	f := Facts{Now: now,
		Kustomization: Kustomization{Deleting: rarely(), Suspended: rarely(), Interval: time.Duration(1+r.IntN(3600)) * time.Second,
			RetryInterval: time.Duration(1+r.IntN(600)) * time.Second, Timeout: time.Duration(30+r.IntN(600)) * time.Second,
			Requested: word("", "a", "b"), Handled: word("", "a"), Watched: yes()},
		Source: Source{Denied: rarely(), Missing: rarely(), Revision: word("", "r", "r", "r")},
		Applied: Applied{Known: yes(), Key: word("", "k", "l"), WantedKey: word("k", "l"), Failed: yes(), Lasting: rarely(), At: ago(),
			Dirty: max(0, r.IntN(5)-2), Drifts: r.IntN(30), Drifted: ago(), Freed: rarely()},
		Health: Health{Checked: yes(), Waiting: yes(), Since: ago(), Looked: ago(), Changed: rarely(), Polled: yes(), Failed: rarely()},
	}
	if rarely() {
		f.Kustomization.Invalid = "wrong"
	}
	if rarely() {
		f.Kustomization.Moved = "Moved to prod"
	}
	for range r.IntN(3) {
		f.Dependencies = append(f.Dependencies, Dependency{Name: "a/b", Missing: rarely(), Denied: rarely(), Ready: !rarely(), SameSource: yes(), SameRevision: yes(), ByExpression: rarely()})
	}
	if rarely() {
		f.Cycle = []string{"a/b"}
	}
	return f
}

func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		f := anyFacts(r)
		d := Decide(f)
		k, a := f.Kustomization, f.Applied
		requested := k.Requested != "" && k.Requested != k.Handled
		law := func(sentence string, holds bool) {
			t.Helper()
			if !holds {
				t.Fatalf("%s\nfacts %+v\ndecision %s", sentence, f, d)
			}
		}
		works := d.Verb == VerbApply || d.Verb == VerbCheckHealth
		law("nothing is applied while it is suspended, deleted or moved", !works || !k.Suspended && !k.Deleting && k.Moved == "")
		law("what is deleted goes", !k.Deleting || d.Verb == VerbDelete)
		law("nothing is applied without a source", d.Verb != VerbApply || f.Source.Revision != "" && !f.Source.Missing && !f.Source.Denied)
		for _, dep := range f.Dependencies {
			law("nothing is applied before what it depends on is ready", d.Verb != VerbApply || unready(dep) == "")
		}
		law("nothing is applied in a circle", d.Verb != VerbApply || len(f.Cycle) == 0)
		early := a.Known && a.Failed && a.Key == a.WantedKey && !requested && !a.Freed && !(a.Lasting && a.Dirty > 0) && (a.Lasting || now.Before(a.At.Add(k.RetryInterval)))
		law("what failed is not tried again too early", !early || d.Verb != VerbApply)
		quiet := a.Known && !a.Failed && a.Key == a.WantedKey && !requested && a.Dirty == 0 && k.Watched
		law("what is as it was left is not applied again", !quiet || d.Verb != VerbApply)
		law("a decision is never to look again in the past", d.NextCheck.IsZero() || d.NextCheck.After(now))
		law("who waits for time says until when", d.Reason != ReasonRetryPending && d.Reason != ReasonHealthPending && d.Reason != ReasonDriftAgain || !d.NextCheck.IsZero())
	}
}
