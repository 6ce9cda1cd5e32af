// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// item is one that began to wait a number of seconds after noon.
func item(id string, class Class, second int) Item {
	group, _, _ := strings.Cut(id, "/")
	return Item{ID: id, Group: group, Class: class, Since: noon.Add(time.Duration(second) * time.Second)}
}

// order takes out all there is, each item ending before the next begins.
func order(q *Queue, now time.Time) []string {
	var ids []string
	for {
		it, ok := q.Next(now, "")
		if !ok {
			return ids
		}
		ids = append(ids, it.ID)
		q.Done(it.ID)
	}
}

func TestOrder(t *testing.T) {
	for _, test := range []struct {
		name  string
		items []Item
		after time.Duration
		want  []string
	}{
		{"one group: the oldest first", []Item{item("a/2", Changed, 2), item("a/1", Changed, 1)}, 0, []string{"a/1", "a/2"}},
		{"what people wait for, then changes, then drift",
			[]Item{item("a/drift", Drift, 0), item("a/change", Changed, 1), item("b/urgent", Urgent, 2)}, 0,
			[]string{"b/urgent", "a/change", "a/drift"}},
		{"groups take turns", []Item{item("a/1", Changed, 0), item("a/2", Changed, 0), item("a/3", Changed, 0), item("b/1", Changed, 9)}, 0,
			[]string{"a/1", "b/1", "a/2", "a/3"}},
		{"a long run is charged for what it takes",
			[]Item{{ID: "a/1", Group: "a", Class: Changed, Since: noon, Cost: time.Minute}, item("a/2", Changed, 0), item("b/1", Changed, 1), item("b/2", Changed, 1)}, 0,
			[]string{"a/1", "b/1", "b/2", "a/2"}},
		{"drift that has waited long enough counts as a change, and is the older one",
			[]Item{item("a/drift", Drift, 0), item("a/change", Changed, 300)}, DefaultAging, []string{"a/drift", "a/change"}},
		{"and as urgent in the end", []Item{item("a/drift", Drift, 0), item("a/urgent", Urgent, 1)}, 2 * DefaultAging, []string{"a/drift", "a/urgent"}},
		{"what is old takes turns with what people wait for, the oldest first",
			[]Item{item("a/drift1", Drift, 0), item("a/drift2", Drift, 1), item("a/change", Changed, 2), item("a/urgent1", Urgent, 3), item("a/urgent2", Urgent, 4)},
			3 * DefaultAging, []string{"a/drift1", "a/urgent1", "a/drift2", "a/urgent2", "a/change"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := New(0, nil)
			for _, it := range test.items {
				q.Add(it)
			}
			if diff := cmp.Diff(test.want, order(q, noon.Add(test.after))); diff != "" {
				t.Errorf("the order (-want +got):\n%s", diff)
			}
			if q.Len() != 0 || len(q.where) != 0 {
				t.Errorf("%d wait and %d are known after all are done", q.Len(), len(q.where))
			}
		})
	}
}

// TestThreeAmongNineHundred: a tenant with three stacks is served among the first, whoever came
// with 900 before.
func TestThreeAmongNineHundred(t *testing.T) {
	q := New(0, nil)
	for i := range 900 {
		q.Add(item(fmt.Sprintf("large/%03d", i), Changed, 0))
	}
	for range 50 {
		it, _ := q.Next(noon, "")
		q.Done(it.ID)
	}
	for i := range 3 {
		q.Add(item(fmt.Sprintf("small/%d", i), Changed, 100))
	}
	places := map[string]int{}
	for at, id := range order(q, noon.Add(time.Minute)) {
		if strings.HasPrefix(id, "small/") {
			places[id] = at
		}
	}
	want := map[string]int{"small/0": 0, "small/1": 2, "small/2": 4}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("places of the three (-want +got):\n%s", diff)
	}
}

// TestIdleGroupSavesNothing: who comes back after the others had a thousand runs does not get the
// next thousand.
func TestIdleGroupSavesNothing(t *testing.T) {
	q := New(0, nil)
	for i := range 1000 {
		q.Add(item(fmt.Sprintf("busy/%04d", i), Changed, 0))
	}
	for range 990 {
		it, _ := q.Next(noon, "")
		q.Done(it.ID)
	}
	for i := range 20 {
		q.Add(item(fmt.Sprintf("back/%02d", i), Changed, 60))
	}
	got := order(q, noon.Add(2*time.Minute))[:10]
	busy := 0
	for _, id := range got {
		if strings.HasPrefix(id, "busy/") {
			busy++
		}
	}
	if busy != 5 {
		t.Errorf("%d of the next ten are the busy group's, want 5: %v", busy, got)
	}
}

func TestLimit(t *testing.T) {
	q := New(0, func(group string) int { return map[string]int{"a": 1}[group] })
	for _, it := range []Item{item("a/1", Urgent, 0), item("a/2", Urgent, 0), item("b/1", Drift, 0)} {
		q.Add(it)
	}
	var began []string
	for {
		it, ok := q.Next(noon, "")
		if !ok {
			break
		}
		began = append(began, it.ID)
	}
	if diff := cmp.Diff([]string{"a/1", "b/1"}, began); diff != "" {
		t.Errorf("began (-want +got):\n%s", diff)
	}
	places := q.Positions(noon)
	if len(places) != 1 || places[0].ID != "a/2" || !places[0].Full {
		t.Errorf("places %+v, want a/2 held up by its group's limit", places)
	}
	q.Done("a/1")
	if it, ok := q.Next(noon, ""); !ok || it.ID != "a/2" {
		t.Errorf("next is %q, want a/2 now that its group has room", it.ID)
	}
}

func TestRunningBeforeTheQueueCounts(t *testing.T) {
	q := New(0, func(string) int { return 1 })
	q.Running("a/0", "a", Changed)
	q.Add(item("a/1", Urgent, 0))
	if it, ok := q.Next(noon, ""); ok {
		t.Errorf("%s begins beside a/0, and the limit is one", it.ID)
	}
	// A runner that lost a/0 lets it wait again.
	q.Add(item("a/0", Changed, 0))
	if diff := cmp.Diff([]string{"a/1", "a/0"}, order(q, noon)); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	q := New(0, nil)
	q.Add(item("a/1", Drift, 0))
	q.Add(item("a/1", Urgent, 0))
	if q.Len() != 1 {
		t.Fatalf("%d wait, want one: it was there already", q.Len())
	}
	if !q.Remove("a/1") || q.Remove("a/1") || q.Remove("b/1") {
		t.Error("Remove says wrongly whether an item waited")
	}
	if _, ok := q.Next(noon, ""); ok || q.Len() != 0 {
		t.Error("what was removed is still there")
	}
}

// A run only begins in its place, and an older one of another place does not hold it up.
func TestRunsBeginInTheirPlaces(t *testing.T) {
	q := New(0, nil)
	q.Add(Item{ID: "1", Group: "a", Class: Changed, Since: noon, Place: "x"})
	q.Add(Item{ID: "2", Group: "a", Class: Changed, Since: noon.Add(time.Second), Place: "y"})
	q.Add(Item{ID: "3", Group: "a", Class: Urgent, Since: noon.Add(time.Minute), Place: "y"})
	for _, step := range []struct{ place, want string }{{"", ""}, {"y", "3"}, {"y", "2"}, {"y", ""}, {"x", "1"}} {
		if it, _ := q.Next(noon, step.place); it.ID != step.want {
			t.Errorf("in place %q begins %q, want %q", step.place, it.ID, step.want)
		}
	}
}

// TestPositionsTellTheOrder: what is shown is what happens, and showing changes nothing.
func TestPositionsTellTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(time.Minute, nil)
		count := rapid.IntRange(0, 40).Draw(t, "items")
		for i := range count {
			group := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")
			it := item(fmt.Sprintf("%s/%d", group, i), Class(rapid.IntRange(0, 3).Draw(t, "class")), rapid.IntRange(0, 300).Draw(t, "second"))
			it.Cost = time.Duration(rapid.IntRange(0, 30).Draw(t, "cost")) * time.Second
			q.Add(it)
			if rapid.Bool().Draw(t, "one begins") {
				if got, ok := q.Next(noon, ""); ok {
					q.Done(got.ID)
				}
			}
		}
		now := noon.Add(5 * time.Minute)
		var shown []string
		for _, p := range q.Positions(now) {
			shown = append(shown, p.ID)
		}
		if len(shown) != q.Len() {
			t.Fatalf("%d are shown of %d", len(shown), q.Len())
		}
		if diff := cmp.Diff(shown, order(q, now)); diff != "" {
			t.Fatalf("shown and done differ (-shown +done):\n%s", diff)
		}
	})
}

// TestNobodyStarves: whatever comes and goes, nothing waits while later and lower things begin for
// longer than its aging allows, and no group falls behind another by more than one run of the
// costliest.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(time.Minute, nil)
		served := map[string]time.Duration{}
		groups := []string{"a", "b", "c", "d"}
		const cost = 10 * time.Second
		now, next := noon, 0
		for _, g := range groups {
			for range 60 {
				q.Add(Item{ID: fmt.Sprintf("%s/%d", g, next), Group: g, Class: Changed, Since: now, Cost: cost})
				next++
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Second)
			it, ok := q.Next(now, "")
			if !ok {
				t.Fatal("nothing begins while runs wait")
			}
			q.Done(it.ID)
			served[it.Group] += it.Cost
			for _, g := range groups {
				if lead := served[it.Group] - served[g]; lead > cost {
					t.Fatalf("%s is %s ahead of %s", it.Group, lead, g)
				}
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		q := New(0, nil)
		for i := range 3000 {
			group := fmt.Sprintf("g%d", i%300)
			q.Add(Item{ID: fmt.Sprintf("%s/%d", group, i), Group: group, Class: Class(i % classes), Since: noon})
		}
		b.StartTimer()
		for range 100 {
			if _, ok := q.Next(noon, ""); !ok {
				b.Fatal("nothing to begin")
			}
		}
	}
}
