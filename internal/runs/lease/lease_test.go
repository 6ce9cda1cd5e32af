// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/lease"
)

// noon is when everything is decided here.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// heard is a home whose runner was last heard some time ago.
func heard(runner string, ago time.Duration) lease.Home {
	return lease.Home{Runner: runner, Renewed: noon.Add(-ago)}
}

func poll(home, runner string, active ...string) *lease.Poll {
	return &lease.Poll{Owner: lease.Owner{Home: home, Runner: runner}, Active: active}
}

func TestDecide(t *testing.T) {
	type fates = map[string]lease.Fate
	// Two homes: "a" has a run that began and one that did not, "b" has one that began. One run
	// waits.
	const begun, given, other, waiting = "begun", "given", "other", "waiting"
	runs := []lease.Run{
		{ID: begun, Owner: lease.Owner{Home: "a", Runner: "a1"}, Begun: true},
		{ID: given, Owner: lease.Owner{Home: "a", Runner: "a1"}},
		{ID: other, Owner: lease.Owner{Home: "b", Runner: "b1"}, Begun: true},
		{ID: waiting},
	}
	long := lease.Default
	for sentence, test := range map[string]struct {
		poll  *lease.Poll
		homes map[string]lease.Home
		want  fates
	}{
		"nobody asks and no lease has ended: all stay": {
			nil, map[string]lease.Home{"a": heard("a1", time.Minute), "b": heard("b1", time.Minute)}, fates{},
		},
		"a runner names what it has: nothing changes, and it is heard of no other home": {
			poll("a", "a1", begun, given), map[string]lease.Home{"a": heard("a1", 0), "b": heard("b1", time.Minute)},
			fates{begun: lease.Claimed, given: lease.Claimed},
		},
		"a runner has nothing any more: its own runs only": {
			poll("a", "a1"), map[string]lease.Home{"a": heard("a1", 0), "b": heard("b1", time.Minute)},
			fates{begun: lease.Lost, given: lease.Again},
		},
		"a runner of a third home asks: nobody's run is touched": {
			poll("c", "c1"), map[string]lease.Home{"a": heard("a1", time.Minute), "b": heard("b1", time.Minute), "c": heard("c1", 0)}, fates{},
		},
		"the next runner of a home took over one run: the other is its runner's no more": {
			poll("a", "a2", given), map[string]lease.Home{"a": {Runner: "a2", Before: []string{"a1"}, Renewed: noon}, "b": heard("b1", time.Minute)},
			fates{begun: lease.Lost, given: lease.Claimed},
		},
		"a poll of the runner before arrives late: it says nothing": {
			poll("a", "a1"), map[string]lease.Home{"a": {Runner: "a2", Before: []string{"a1"}, Renewed: noon}, "b": heard("b1", time.Minute)}, fates{},
		},
		"a late poll names what another has by now: not even that": {
			poll("a", "a1", waiting), map[string]lease.Home{"a": {Runner: "a2", Before: []string{"a1"}, Renewed: noon}, "b": heard("b1", time.Minute)}, fates{},
		},
		"a lease ended: what was not begun is lost, too": {
			nil, map[string]lease.Home{"a": heard("a1", long), "b": heard("b1", time.Minute)},
			fates{begun: lease.Unheard, given: lease.Unheard},
		},
		"a moment before its lease ends: all stay": {
			nil, map[string]lease.Home{"a": heard("a1", long-1), "b": heard("b1", time.Minute)}, fates{},
		},
		"a lease ended, and somebody knows better": {
			nil, map[string]lease.Home{"a": {Runner: "a1", Renewed: noon.Add(-long), Alive: true}, "b": heard("b1", time.Minute)}, fates{},
		},
		"another runner's poll finds a lease ended": {
			poll("b", "b1", other), map[string]lease.Home{"a": heard("a1", long), "b": heard("b1", 0)},
			fates{begun: lease.Unheard, given: lease.Unheard, other: lease.Claimed},
		},
		"a home is gone: what was not begun may begin elsewhere": {
			nil, map[string]lease.Home{"a": {Runner: "a1", Renewed: noon, Gone: true}, "b": heard("b1", time.Minute)},
			fates{begun: lease.Lost, given: lease.Again},
		},
		"a runner names the run of another home: it must forget that": {
			poll("b", "b1", other, begun), map[string]lease.Home{"a": heard("a1", time.Minute), "b": heard("b1", 0)},
			fates{other: lease.Claimed, begun: lease.Foreign},
		},
		"a server that started anew hears who has a run that waits": {
			poll("c", "c1", waiting), map[string]lease.Home{"a": heard("", time.Minute), "b": heard("", time.Minute), "c": heard("c1", 0)},
			fates{waiting: lease.Claimed},
		},
		"a server that started anew hears one home: the other has its whole lease": {
			poll("a", "a2", begun), map[string]lease.Home{"a": heard("a2", 0), "b": heard("", 0)},
			fates{begun: lease.Claimed, given: lease.Again},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := fates{}
			for _, r := range runs {
				if f := lease.Decide(r, lease.Facts{Now: noon, Length: long, Poll: test.poll, Homes: test.homes}); f != lease.Stays {
					got[r.ID] = f
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHomeIsOneRunnersAtATime(t *testing.T) {
	var h lease.Home
	for _, step := range []struct {
		runner string
		want   lease.Home
	}{
		{"one", lease.Home{Runner: "one", Renewed: noon}},
		{"one", lease.Home{Runner: "one", Renewed: noon}},
		{"two", lease.Home{Runner: "two", Before: []string{"one"}, Renewed: noon}},
		{"one", lease.Home{Runner: "two", Before: []string{"one"}, Renewed: noon}},
		{"three", lease.Home{Runner: "three", Before: []string{"one", "two"}, Renewed: noon}},
		// A poll of the first was on its way while two others began.
		{"one", lease.Home{Runner: "three", Before: []string{"one", "two"}, Renewed: noon}},
	} {
		h = h.Takes(step.runner, noon)
		if diff := cmp.Diff(step.want, h); diff != "" {
			t.Errorf("after a poll of %s (-want +got):\n%s", step.runner, diff)
		}
	}
}

func TestALatePollRenewsNoLease(t *testing.T) {
	h := lease.Home{Runner: "two", Before: []string{"one"}, Renewed: noon}
	if diff := cmp.Diff(h, h.Takes("one", noon.Add(time.Hour))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
