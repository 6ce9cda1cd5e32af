// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/objects/rollout"
	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func rolling(most string, instances ...Instance) Facts {
	return Facts{Now: now, MaxUnavailable: most, Deadline: 10 * time.Minute, Last: rollout.Last{Began: ago(time.Hour), Same: true}, Instances: instances}
}

func old(names ...string) (all []Instance) {
	for _, name := range names {
		all = append(all, Instance{Name: name, Ready: true})
	}
	return all
}

func TestDecide(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts Facts
		turns []string
		phase string
		words string
	}{
		"a share of them": {rolling("50%", old("a", "b", "c")...), []string{"a", "b"}, rollout.PhaseInProgress,
			"0 of 3 instances have the change, and 0 of those are ready"},
		"at least one": {rolling("1%", old("a", "b", "c")...), []string{"a"}, rollout.PhaseInProgress, "0 of 3 instances have the change, and 0 of those are ready"},
		"all at once without a limit": {rolling("", old("a", "b")...), []string{"a", "b"}, rollout.PhaseInProgress,
			"0 of 2 instances have the change, and 0 of those are ready"},
		"who is unaffected has it": {rolling("1", append(old("b", "c"), Instance{Name: "a", Ready: true, Unaffected: true})...), []string{"a", "b"}, rollout.PhaseInProgress,
			"1 of 3 instances have the change, and 1 of those are ready"},
		"nothing changes for anybody: complete": {rolling("1", Instance{Name: "a", Ready: true, Unaffected: true}, Instance{Name: "b", Unaffected: true}), []string{"a", "b"},
			rollout.PhaseComplete, "2 of 2 instances have the change, and 1 of those are ready"},
		"one has failed: the others keep the base": {
			rolling("1", append(old("b"), Instance{Name: "a", Target: true, Failed: true, Since: ago(time.Minute)})...), []string{"a"}, rollout.PhaseFailed,
			"1 of 2 instances have the change. The rollout is paused, because these have failed or were not ready after 10m0s: a. It continues when they are ready, or when the definition changes"},
		"one waits for approval: no deadline": {
			rolling("1", append(old("b"), Instance{Name: "a", Target: true, Waits: true, Since: ago(50 * time.Minute)})...), []string{"a"}, rollout.PhaseInProgress,
			"1 of 2 instances have the change, and 0 of those are ready"},
		"paused by the definition": {
			func() Facts {
				f := rolling("1", append(old("b"), Instance{Name: "a", Target: true, Ready: true, Since: ago(50 * time.Minute)})...)
				f.Paused = true
				return f
			}(), []string{"a"}, rollout.PhaseInProgress, "1 of 2 instances have the change, and 1 of those are ready; spec.rollout.paused stops the others"},
		"no instances": {rolling("1"), nil, rollout.PhaseIdle, "no instance uses this definition"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Decide(c.facts)
			if diff := cmp.Diff(c.turns, slices.Sorted(maps.Keys(d.Turns))); diff != "" {
				t.Errorf("turns: %s", diff)
			}
			if d.Phase != c.phase || d.Message != c.words {
				t.Errorf("%s: %s", d.Phase, d.Message)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]int{"": 0, "3": 3, "10%": 2, "100%": 11, "1%": 1, "500%": 11} {
		if got := limit(text, 11); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"0", "-1", "x", "101%", "%", "1.5"} {
		if CheckLimit(text) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestLaws plays changes of a definition with random outcomes and lost records.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(t, "most")
		f := Facts{Now: now, MaxUnavailable: fmt.Sprint(most), Deadline: 10 * time.Minute}
		for i := range rapid.IntRange(1, 12).Draw(t, "instances") {
			f.Instances = append(f.Instances, Instance{Name: fmt.Sprint("i", i), Ready: true, Unaffected: rapid.IntRange(0, 3).Draw(t, "unaffected") == 0})
		}
		writes := map[string]int{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			f.Now = f.Now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			f.Paused = rapid.IntRange(0, 5).Draw(t, "paused") == 0
			d := Decide(f)
			if f.Paused && len(d.Update) > 0 {
				t.Fatal("a paused rollout goes on")
			}
			if rapid.IntRange(0, 4).Draw(t, "recorded") > 0 {
				f.Last = rollout.Last{Began: d.Began, Complete: d.Phase == rollout.PhaseComplete, Same: true, Ended: f.Now}
			}
			way := 0
			for k := range f.Instances {
				i := &f.Instances[k]
				if i.Target && !d.Turns[i.Name] {
					t.Fatalf("%s loses its turn", i.Name)
				}
				if d.Turns[i.Name] && !i.Target && !i.Unaffected {
					writes[i.Name]++
					i.Target, i.Since, i.Ready = true, f.Now, false
				}
				if i.Target && !i.Ready {
					way++
				}
				if i.Target && !i.Ready && rapid.IntRange(0, 2).Draw(t, "ready") == 0 {
					i.Ready, i.Failed = true, false
				} else if i.Target && !i.Ready && rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
					i.Failed = true
				}
			}
			if way > most {
				t.Fatalf("%d are on their way, and %d may", way, most)
			}
		}
		for name, n := range writes {
			if n > 1 {
				t.Fatalf("%s is written %d times", name, n)
			}
			if i := slices.IndexFunc(f.Instances, func(i Instance) bool { return i.Name == name }); f.Instances[i].Unaffected {
				t.Fatalf("%s is written although nothing changes", name)
			}
		}
	})
}

func TestImports(t *testing.T) {
	puretest.Imports(t, "fmt", "strconv", "strings", "time", "github.com/yuba-dev/yuba/internal/objects/rollout")
}
