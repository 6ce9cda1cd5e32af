// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(home, place string, state pod.State, ago time.Duration) pod.Pod {
	return pod.Pod{Home: home, Place: place, State: state, Since: noon.Add(-ago), Created: noon.Add(-ago)}
}

func busy(home, place string, left time.Duration) pod.Pod {
	p := at(home, place, pod.Working, time.Minute)
	p.Left = left
	return p
}

func stuck(home, place string) pod.Pod {
	p := at(home, place, pod.Starting, time.Minute)
	p.Stuck = true
	return p
}

// runs are waiting runs of places, each of unknown cost.
func runs(places ...string) (list []pod.Waiting) {
	for _, p := range places {
		list = append(list, pod.Waiting{Place: p})
	}
	return list
}

func awaited(list []pod.Waiting) []pod.Waiting {
	for i := range list {
		list[i].Awaited = true
	}
	return list
}

func long(place string, n int) (list []pod.Waiting) {
	for range n {
		list = append(list, pod.Waiting{Place: place, Cost: time.Minute})
	}
	return list
}

func TestScale(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts pod.Facts
		want  pod.Actions
	}{
		"nothing waits and nothing is there": {pod.Facts{}, pod.Actions{}},
		"the first run of a place gets a Pod": {
			pod.Facts{Waiting: runs("a")}, pod.Actions{Create: []string{"a"}},
		},
		"short runs share a Pod until one would wait for long": {
			pod.Facts{Waiting: runs("a", "a", "a", "a")}, pod.Actions{Create: []string{"a"}, Next: noon.Add(time.Second)},
		},
		"then it gets another": {
			pod.Facts{Waiting: awaited(runs("a", "a", "a")), Pods: []pod.Pod{busy("p", "a", 2*time.Second)}},
			pod.Actions{Create: []string{"a"}, Next: noon.Add(time.Second)},
		},
		"a run that nobody waits for is more patient": {
			pod.Facts{Waiting: runs("a", "a", "a", "a", "a", "a")}, pod.Actions{Create: []string{"a"}, Next: noon.Add(time.Second)},
		},
		"long runs get one Pod at first": {
			pod.Facts{Waiting: long("a", 3)}, pod.Actions{Create: []string{"a"}},
		},
		"and as many more as there are": {
			pod.Facts{Waiting: long("a", 9), Pods: []pod.Pod{busy("p", "a", time.Minute), busy("q", "a", time.Minute)}}, pod.Actions{Create: []string{"a", "a"}},
		},
		"places do not share": {
			pod.Facts{Waiting: runs("a", "b", "a")}, pod.Actions{Create: []string{"a", "b"}, Next: noon.Add(time.Second)},
		},
		"a Pod that starts is for a run that waits": {
			pod.Facts{Waiting: runs("a"), Pods: []pod.Pod{at("p", "a", pod.Starting, time.Second)}}, pod.Actions{},
		},
		"an idle Pod takes the run": {
			pod.Facts{Waiting: runs("a"), Pods: []pod.Pod{at("p", "a", pod.Idle, time.Second)}}, pod.Actions{},
		},
		"a run waits for a Pod that will be free soon": {
			pod.Facts{Waiting: awaited(runs("a")), Pods: []pod.Pod{busy("p", "a", 2*time.Second)}}, pod.Actions{Next: noon.Add(time.Second)},
		},
		"and not for one with a long run": {
			pod.Facts{Waiting: runs("a"), Pods: []pod.Pod{busy("p", "a", time.Minute)}}, pod.Actions{Create: []string{"a"}},
		},
		"the Pod that is free first takes the run": {
			pod.Facts{Waiting: runs("a", "a"), Pods: []pod.Pod{busy("p", "a", time.Minute), at("q", "a", pod.Idle, time.Second)}},
			pod.Actions{Next: noon.Add(time.Second)},
		},
		"a Pod that ends does not count": {
			pod.Facts{Max: 1, Waiting: runs("a"), Pods: []pod.Pod{at("p", "a", pod.Ending, time.Second)}}, pod.Actions{Create: []string{"a"}},
		},
		"no more than the maximum": {
			pod.Facts{Max: 3, Waiting: long("a", 5), Pods: []pod.Pod{busy("p", "a", time.Minute), busy("q", "a", time.Minute)}},
			pod.Actions{Create: []string{"a"}},
		},
		"an idle Pod of another place makes room, the oldest first": {
			pod.Facts{Max: 2, Waiting: runs("a"), Pods: []pod.Pod{at("young", "b", pod.Idle, time.Second), at("old", "c", pod.Idle, time.Minute)}},
			pod.Actions{Create: []string{"a"}, Delete: []string{"old"}, Next: noon.Add(5*time.Minute - time.Second)},
		},
		"a Pod with a run leaves after it for a place that has none": {
			pod.Facts{Max: 1, Waiting: runs("a"), Pods: []pod.Pod{at("p", "b", pod.Working, time.Hour)}}, pod.Actions{Leave: []string{"p"}},
		},
		"but not before it has had its turn": {
			pod.Facts{Max: 1, Waiting: runs("a"), Pods: []pod.Pod{at("p", "b", pod.Working, time.Second)}}, pod.Actions{},
		},
		"one Pod that leaves is enough for one place": {
			pod.Facts{Max: 2, Waiting: runs("a", "a"), Pods: []pod.Pod{at("p", "b", pod.Leaving, time.Hour), at("q", "b", pod.Working, time.Hour)}}, pod.Actions{},
		},
		"two places need two, from the place that has most": {
			pod.Facts{Max: 4, Waiting: runs("a", "c"), Pods: []pod.Pod{at("p", "b", pod.Working, time.Minute), at("q", "b", pod.Working, time.Minute),
				at("r", "b", pod.Working, time.Minute), at("s", "d", pod.Working, time.Hour)}}, pod.Actions{Leave: []string{"p", "q"}},
		},
		"a place with a Pod that works waits for that": {
			pod.Facts{Max: 2, Waiting: runs("a"), Pods: []pod.Pod{at("p", "b", pod.Working, time.Hour), at("q", "a", pod.Working, time.Hour)}}, pod.Actions{},
		},
		"nor does one whose place has a run that waits": {
			pod.Facts{Max: 1, Waiting: runs("a", "b"), Pods: []pod.Pod{at("p", "b", pod.Idle, time.Minute)}}, pod.Actions{},
		},
		"nor an idle one for the second Pod of a place": {
			pod.Facts{Max: 2, Waiting: long("a", 2), Pods: []pod.Pod{at("p", "b", pod.Idle, time.Minute)}},
			pod.Actions{Create: []string{"a"}, Next: noon.Add(4 * time.Minute)},
		},
		"a blocked place gets no Pod, and others do": {
			pod.Facts{Waiting: runs("a", "b"), Blocked: map[string]bool{"a": true}}, pod.Actions{Create: []string{"b"}},
		},
		"an idle Pod stays until its time has come": {
			pod.Facts{Pods: []pod.Pod{at("p", "a", pod.Idle, time.Minute)}}, pod.Actions{Next: noon.Add(4 * time.Minute)},
		},
		"and goes then": {
			pod.Facts{Pods: []pod.Pod{at("p", "a", pod.Idle, 5*time.Minute), at("q", "a", pod.Idle, time.Minute)}},
			pod.Actions{Delete: []string{"p"}, Next: noon.Add(4 * time.Minute)},
		},
		"but not if a run waits for it": {
			pod.Facts{Waiting: runs("a"), Pods: []pod.Pod{at("p", "a", pod.Idle, time.Hour)}}, pod.Actions{},
		},
		"a Pod that starts for nobody is deleted": {
			pod.Facts{Pods: []pod.Pod{at("p", "a", pod.Starting, time.Second)}}, pod.Actions{Delete: []string{"p"}},
		},
		"a Pod that cannot start takes nobody's room, and its place gets no other": {
			pod.Facts{Max: 1, Waiting: append(long("a", 3), runs("b")...), Pods: []pod.Pod{stuck("p", "a")}}, pod.Actions{Create: []string{"b"}},
		},
		"a place without a Pod comes before one that has many": {
			pod.Facts{Max: 3, Waiting: append(long("a", 3), runs("b")...), Pods: []pod.Pod{at("p", "a", pod.Working, time.Second), at("q", "a", pod.Working, time.Second)}},
			pod.Actions{Create: []string{"b"}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.facts.Now, test.facts.IdleFor = noon, 5*time.Minute
			if test.facts.Max == 0 {
				test.facts.Max = 10
			}
			if diff := cmp.Diff(test.want, pod.Scale(test.facts), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Laws over random facts: no Pod with a run and no starting Pod is deleted, the maximum is kept, and
// every place with a waiting run gets a Pod if there is room.
func TestScaleKeepsItsLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // random facts
	places := []string{"a", "b", "c", "d"}
	for range 20000 {
		f := pod.Facts{Now: noon, Max: 1 + rng.IntN(6), IdleFor: time.Minute, Blocked: map[string]bool{places[rng.IntN(4)]: rng.IntN(3) == 0}}
		living, states := 0, map[string]pod.Pod{}
		for i := range rng.IntN(f.Max + 1) {
			p := at(string(rune('0'+i)), places[rng.IntN(4)], pod.State(rng.IntN(5)), time.Duration(rng.IntN(120))*time.Second)
			if p.State == pod.Working {
				p.Left = time.Duration(rng.IntN(10)) * time.Second
			}
			f.Pods, states[p.Home] = append(f.Pods, p), p
			if p.State != pod.Ending {
				living++
			}
		}
		for range rng.IntN(6) {
			f.Waiting = append(f.Waiting, pod.Waiting{Place: places[rng.IntN(4)], Cost: time.Duration(rng.IntN(5)) * time.Second})
		}
		got := pod.Scale(f)
		for _, home := range got.Delete {
			p := states[home]
			wanted := slices.ContainsFunc(f.Waiting, func(w pod.Waiting) bool { return w.Place == p.Place })
			if p.State != pod.Idle && !(p.State == pod.Starting && !wanted) {
				t.Fatalf("%+v: deletes %+v", f, p)
			}
		}
		for _, home := range got.Leave {
			if p := states[home]; p.State != pod.Working || noon.Sub(p.Created) < 10*time.Second {
				t.Fatalf("%+v: asks %+v to leave", f, p)
			}
		}
		after := living + len(got.Create) - len(got.Delete)
		if after > f.Max {
			t.Fatalf("%+v: %+v leads to %d Pods", f, got, after)
		}
		for _, w := range f.Waiting {
			free := slices.ContainsFunc(f.Pods, func(p pod.Pod) bool {
				takes := p.State == pod.Idle || p.State == pod.Starting || p.State == pod.Working && p.Left <= 10*time.Second
				return p.Place == w.Place && takes && !slices.Contains(got.Delete, p.Home)
			})
			if !free && !f.Blocked[w.Place] && !slices.Contains(got.Create, w.Place) && living+len(got.Create) < f.Max {
				t.Fatalf("%+v: %+v leaves %s without a Pod, and there is room", f, got, w.Place)
			}
		}
	}
}
