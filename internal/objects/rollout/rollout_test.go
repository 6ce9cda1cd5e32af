// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

var words = Words{One: "tenant", Many: "tenants", Original: "template", NoCanary: "no tenant has the labels of spec.rollout.canary", Broken: "these cannot be rendered"}

// The states of tenants during a rollout.
func current(name string) Item  { return Item{Name: name, Current: true, Ready: true} }
func outdated(name string) Item { return Item{Name: name, Ready: true} }
func unwell(name string) Item   { return Item{Name: name} }
func canary(b Item) Item        { b.Canary = true; return b }

func onWay(name string, since time.Duration) Item {
	return Item{Name: name, Current: true, Since: ago(since)}
}

// rolling are the facts of a rollout that began an hour ago.
func rolling(skew int, tenants ...Item) Facts {
	return Facts{Now: now, MaxSkew: skew, Deadline: 10 * time.Minute, Last: Last{Began: ago(time.Hour), Same: true}, Items: tenants, Words: words}
}

func with(f Facts, change func(*Facts)) Facts {
	change(&f)
	return f
}

func starts(tenants ...string) []Update {
	var all []Update
	for _, t := range tenants {
		all = append(all, Update{Name: t, Starts: true})
	}
	return all
}

func TestDecide(t *testing.T) {
	began := ago(time.Hour)
	inTenMinutes := now.Add(10 * time.Minute)
	for sentence, c := range map[string]struct {
		facts Facts
		want  Decision
	}{
		"no tenants": {Facts{Now: now, MaxSkew: 1, Words: words}, Decision{Phase: PhaseIdle, Message: "no tenant uses this template"}},
		"a template with tenants that is not on record: it begins now": {
			Facts{Now: now, MaxSkew: 1, Deadline: time.Minute, Words: words, Items: []Item{outdated("a"), outdated("b")}},
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: now, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready"}},
		"without a limit all get it at once": {
			rolling(0, outdated("c"), outdated("a"), unwell("b")),
			Decision{Update: []Update{{Name: "b"}, {Name: "a", Starts: true}, {Name: "c", Starts: true}}, Phase: PhaseInProgress, Began: began,
				Total: 3, Message: "0 of 3 tenants have the change, and 0 of those are ready"}},
		"as many as may be on their way": {
			rolling(2, outdated("a"), outdated("b"), outdated("c"), onWay("d", 0), current("e")),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 5, Updated: 2, Updating: 1, ReadyUpdated: 1,
				NextCheck: inTenMinutes, Message: "2 of 5 tenants have the change, and 1 of those are ready"}},
		"no more while as many are on their way": {
			rolling(1, outdated("a"), onWay("d", 0)),
			Decision{Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, Updating: 1,
				NextCheck: inTenMinutes, Message: "1 of 2 tenants have the change, and 0 of those are ready"}},
		"new tenants take nobody's place": {
			rolling(1, outdated("a"), Item{Name: "n", Current: true}),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, Updating: 1,
				Message: "1 of 2 tenants have the change, and 0 of those are ready"}},
		"one that was not ready before takes nobody's place": {
			rolling(1, outdated("a"), unwell("b")),
			Decision{Update: []Update{{Name: "b"}, {Name: "a", Starts: true}}, Phase: PhaseInProgress, Began: began, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready"}},
		"those that were not ready before are not changed all at once": {
			rolling(2, unwell("a"), unwell("b"), unwell("c")),
			Decision{Update: []Update{{Name: "a"}, {Name: "b"}}, Phase: PhaseInProgress, Began: began, Total: 3,
				Message: "0 of 3 tenants have the change, and 0 of those are ready"}},
		"one has failed: nothing more": {
			rolling(2, outdated("a"), Item{Name: "b", Current: true, Failed: true, Since: ago(time.Minute)}),
			Decision{Phase: PhaseFailed, Began: began, Total: 2, Updated: 1, Updating: 1, Failed: []string{"b"},
				Message: "1 of 2 tenants have the change. The rollout is paused, because these have failed or were not ready after 10m0s: b. " +
					"It continues when they are ready, or when the template changes"}},
		"one was not ready in time: nothing more": {
			rolling(2, outdated("a"), onWay("b", 10*time.Minute)),
			Decision{Phase: PhaseFailed, Began: began, Total: 2, Updated: 1, Updating: 1, Failed: []string{"b"},
				Message: "1 of 2 tenants have the change. The rollout is paused, because these have failed or were not ready after 10m0s: b. " +
					"It continues when they are ready, or when the template changes"}},
		"one waits for a person: that takes as long as it takes": {
			rolling(2, outdated("a"), outdated("c"), Item{Name: "b", Current: true, Waits: true, Since: ago(30 * time.Minute)}),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 3, Updated: 1, Updating: 1,
				Message: "1 of 3 tenants have the change, and 0 of those are ready"}},
		"one that had failed is ready: it goes on": {
			rolling(1, outdated("a"), Item{Name: "b", Current: true, Ready: true, Since: ago(time.Hour)}),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, ReadyUpdated: 1,
				Message: "1 of 2 tenants have the change, and 1 of those are ready"}},
		"the template has changed again: who is on the way goes first, and takes no other place": {
			rolling(1, outdated("a"), Item{Name: "b", Failed: true, Since: ago(30 * time.Minute)}),
			Decision{Update: starts("b"), Phase: PhaseInProgress, Began: began, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready"}},
		"the canaries first": {
			with(rolling(0, outdated("a"), canary(outdated("b")), outdated("c")), func(f *Facts) { f.HasCanary = true }),
			Decision{Update: starts("b"), Phase: PhaseInProgress, Began: began, Total: 3,
				Message: "0 of 3 tenants have the change, and 0 of those are ready; the others wait until these are ready: b"}},
		"a canary is not ready: the others wait": {
			with(rolling(0, outdated("a"), canary(onWay("b", 0))), func(f *Facts) { f.HasCanary = true }),
			Decision{Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, Updating: 1, NextCheck: inTenMinutes,
				Message: "1 of 2 tenants have the change, and 0 of those are ready; the others wait until these are ready: b"}},
		"all canaries are ready: the others": {
			with(rolling(0, outdated("a"), canary(current("b"))), func(f *Facts) { f.HasCanary = true }),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, ReadyUpdated: 1,
				Message: "1 of 2 tenants have the change, and 1 of those are ready"}},
		"no canary: nobody": {
			with(rolling(0, outdated("a")), func(f *Facts) { f.HasCanary = true }),
			Decision{Phase: PhaseInProgress, Began: began, Total: 1,
				Message: "0 of 1 tenants have the change, and 0 of those are ready; no tenant has the labels of spec.rollout.canary, so the rollout cannot start"}},
		"who cannot be rendered does not hold up the others": {
			rolling(1, Item{Name: "a", Ready: true, Broken: true}, outdated("b")),
			Decision{Update: starts("b"), Phase: PhaseInProgress, Began: began, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready; these cannot be rendered: a"}},
		"whom the API did not take takes nobody's place": {
			rolling(1, Item{Name: "a", Ready: true, Refused: true}, outdated("b")),
			Decision{Update: starts("b"), Phase: PhaseInProgress, Began: began, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready"}},
		"whom the API did not take is tried again when it is alone": {
			rolling(1, Item{Name: "a", Ready: true, Refused: true}, current("b")),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, ReadyUpdated: 1,
				Message: "1 of 2 tenants have the change, and 1 of those are ready"}},
		"all have it, but for one that cannot be rendered: complete": {
			rolling(1, Item{Name: "a", Ready: true, Broken: true}, current("b")),
			Decision{Phase: PhaseComplete, Began: began, Total: 2, Updated: 1, ReadyUpdated: 1,
				Message: "1 of 2 tenants have the change, and 1 of those are ready; these cannot be rendered: a"}},
		"tenants that are going are left alone, and take their place": {
			rolling(1, outdated("a"), Item{Name: "b", Frozen: true, Current: true, Since: ago(time.Hour), Failed: true}),
			Decision{Phase: PhaseInProgress, Began: began, Total: 1, Message: "0 of 1 tenants have the change, and 0 of those are ready"}},
		"what becomes of a tenant after the end is another matter": {
			with(rolling(1, Item{Name: "a", Current: true, Failed: true, Since: ago(time.Hour)}, current("b")), func(f *Facts) { f.Last.Complete = true }),
			Decision{Phase: PhaseComplete, Began: began, Total: 2, Updated: 2, Updating: 1, ReadyUpdated: 1,
				Message: "2 of 2 tenants have the change, and 1 of those are ready"}},
		"the next change begins anew: who fails since the last one is not on the way": {
			with(rolling(1, Item{Name: "a", Since: ago(time.Hour)}, outdated("b")), func(f *Facts) {
				f.Last = Last{Began: ago(time.Hour), Complete: true, Ended: ago(time.Minute)}
			}),
			Decision{Update: []Update{{Name: "a"}, {Name: "b", Starts: true}}, Phase: PhaseInProgress, Began: now, Total: 2,
				Message: "0 of 2 tenants have the change, and 0 of those are ready"}},
		"a server has ended before it could record the rollout: who has the change is on the way": {
			with(rolling(1, onWay("a", time.Minute), outdated("b")), func(f *Facts) {
				f.Last = Last{Began: ago(time.Hour), Complete: true, Ended: ago(30 * time.Minute)}
			}),
			Decision{Phase: PhaseInProgress, Began: ago(time.Minute), Total: 2, Updated: 1, Updating: 1, NextCheck: now.Add(9 * time.Minute),
				Message: "1 of 2 tenants have the change, and 0 of those are ready"}},
		"without a limit nobody waits because of one that has failed": {
			rolling(0, outdated("a"), Item{Name: "b", Current: true, Failed: true, Since: ago(time.Minute)}),
			Decision{Update: starts("a"), Phase: PhaseInProgress, Began: began, Total: 2, Updated: 1, Updating: 1,
				Message: "1 of 2 tenants have the change, and 0 of those are ready"}},
		"without a limit it is complete when all have the change, and those that are not ready have failed": {
			rolling(0, current("a"), Item{Name: "b", Current: true, Failed: true, Since: ago(time.Minute)}),
			Decision{Phase: PhaseComplete, Began: began, Total: 2, Updated: 2, Updating: 1, ReadyUpdated: 1,
				Message: "2 of 2 tenants have the change, and 1 of those are ready"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.facts), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// fleet models tenants that get the decided changes and become ready, or not, in any order.
type fleet struct {
	now    time.Time
	skew   int
	canary bool
	last   Last
	// began is the beginning of the rollout, recorded or not.
	began   time.Time
	tenants []Item
}

func (w *fleet) facts() Facts {
	return Facts{Now: w.now, MaxSkew: w.skew, HasCanary: w.canary, Deadline: 10 * time.Minute, Last: w.last, Words: words, Items: slices.Clone(w.tenants)}
}

// act carries out a decision. The server may end before it records that.
func (w *fleet) act(d Decision, recorded bool) {
	if ended := w.last.Ended; recorded {
		if d.Phase == PhaseComplete && (!w.last.Complete || !w.last.Same) {
			ended = w.now
		}
		w.last = Last{Began: d.Began, Complete: d.Phase == PhaseComplete, Same: true, Ended: ended}
	}
	w.began = d.Began
	for _, u := range d.Update {
		i := slices.IndexFunc(w.tenants, func(b Item) bool { return b.Name == u.Name })
		w.tenants[i].Current, w.tenants[i].Ready, w.tenants[i].Failed = true, false, false
		w.tenants[i].Since = time.Time{}
		if u.Starts {
			w.tenants[i].Since = w.now.Truncate(time.Second)
		}
	}
}

// change is a new generation of the template.
func (w *fleet) change() {
	w.last.Same = false
	for i := range w.tenants {
		w.tenants[i].Current, w.tenants[i].Broken = false, false
	}
}

func (w *fleet) onWay() int {
	n := 0
	for _, t := range w.tenants {
		if t.onItsWay(w.began) {
			n++
		}
	}
	return n
}

func TestLawsOfRollouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &fleet{now: now, skew: rapid.IntRange(1, 3).Draw(t, "skew"), canary: rapid.Bool().Draw(t, "canary")}
		for i := range rapid.IntRange(1, 8).Draw(t, "tenants") {
			b := outdated(string(rune('a' + i)))
			b.Canary = w.canary && (i == 0 || rapid.Bool().Draw(t, "is canary"))
			b.Ready = rapid.IntRange(0, 4).Draw(t, "well") > 0
			w.tenants = append(w.tenants, b)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			// Times are stored in whole seconds.
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
			d := Decide(w.facts())
			if !cmp.Equal(d, Decide(w.facts())) {
				t.Fatal("the same facts lead to something else")
			}
			check(t, w, d)
			w.act(d, rapid.IntRange(0, 4).Draw(t, "recorded") > 0)
			if n := w.onWay(); n > w.skew {
				t.Fatalf("%d are on their way, and %d may", n, w.skew)
			}
			i := rapid.IntRange(0, len(w.tenants)-1).Draw(t, "who")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				if w.onWay() <= w.skew {
					w.change()
				}
			case 1:
				// A change can only make tenants fail that have it.
				w.tenants[i].Failed = w.tenants[i].Current && !w.tenants[i].Ready
			case 2:
			default:
				w.tenants[i].Ready, w.tenants[i].Failed = true, false
			}
		}
		settle(t, w)
	})
}

// check checks one decision.
func check(t *rapid.T, w *fleet, d Decision) {
	allReady := true
	for _, b := range w.tenants {
		if b.Canary && !(b.Current && b.Ready) {
			allReady = false
		}
	}
	for _, u := range d.Update {
		b := w.tenants[slices.IndexFunc(w.tenants, func(b Item) bool { return b.Name == u.Name })]
		switch {
		case d.Paused():
			t.Fatalf("%s is changed although %v have failed", u.Name, d.Failed)
		case b.Current:
			t.Fatalf("%s is changed again", u.Name)
		case w.canary && !b.Canary && !allReady:
			t.Fatalf("%s is changed before the canaries are ready", u.Name)
		}
	}
	if !d.NextCheck.IsZero() && !d.NextCheck.After(w.now) {
		t.Fatalf("next check at %s, now %s", d.NextCheck, w.now)
	}
}

// settle: if every tenant becomes ready in time, the rollout completes.
func settle(t *rapid.T, w *fleet) {
	for range 4 * (len(w.tenants) + 1) {
		for i := range w.tenants {
			w.tenants[i].Ready, w.tenants[i].Failed = true, false
		}
		d := Decide(w.facts())
		w.act(d, true)
		if d.Phase == PhaseComplete {
			return
		}
	}
	t.Fatalf("it has no end: %+v", w.tenants)
}
