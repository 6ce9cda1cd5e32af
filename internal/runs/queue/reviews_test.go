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

func TestReviewsComeAfterWhatChangesSomething(t *testing.T) {
	q := New(0, nil)
	for _, it := range []Item{item("a/review", Review, 0), item("a/drift", Drift, 1), item("b/change", Changed, 3000), item("b/urgent", Urgent, 3000)} {
		q.Add(it)
	}
	// The drift check has waited long enough to count as urgent, and the review for ever.
	if diff := cmp.Diff([]string{"a/drift", "b/urgent", "b/change", "a/review"}, order(q, noon.Add(3000*time.Second))); diff != "" {
		t.Error(diff)
	}
}

func TestReviewsAreBounded(t *testing.T) {
	q := New(0, nil)
	q.BoundReviews(2)
	q.Running("a/before", "a", Review)
	for i := range 3 {
		q.Add(item(fmt.Sprintf("a/review%d", i), Review, i))
	}
	q.Add(item("b/drift", Drift, 9))
	var began []string
	for {
		it, ok := q.Next(noon, "")
		if !ok {
			break
		}
		began = append(began, it.ID)
	}
	if diff := cmp.Diff([]string{"a/review0", "b/drift"}, began); diff != "" {
		t.Errorf("began (-want +got):\n%s", diff)
	}
	if places := q.Positions(noon); len(places) != 2 || !places[0].Full {
		t.Errorf("places are %+v", places)
	}
	q.Done("a/before")
	if it, ok := q.Next(noon, ""); !ok || it.ID != "a/review1" {
		t.Errorf("next is %q, now that there is room", it.ID)
	}
}

// TestNoReviewBeginsBeforeWhatChangesSomething is a law over random queues.
func TestNoReviewBeginsBeforeWhatChangesSomething(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, bound := New(time.Minute, nil), rapid.IntRange(1, 3).Draw(t, "bound")
		q.BoundReviews(bound)
		others, reviews := 0, 0
		running := map[string]bool{}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now := noon.Add(time.Duration(10*i) * time.Second)
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				class := Class(rapid.IntRange(0, 2).Draw(t, "class")) // all but drift checks, which may wait
				q.Add(Item{ID: fmt.Sprintf("%s/%d", class, i), Group: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group"), Class: class, Since: now})
				if class != Review {
					others++
				}
			case 1:
				it, ok := q.Next(now, "")
				switch {
				case !ok:
				case it.Class != Review:
					others--
				case others > 0:
					t.Fatalf("%s begins, and %d others wait", it.ID, others)
				default:
					running[it.ID] = true
					if reviews++; reviews > bound {
						t.Fatalf("%d reviews run, the bound is %d", reviews, bound)
					}
				}
			default:
				for id := range running {
					if strings.HasPrefix(id, "review/") {
						q.Done(id)
						delete(running, id)
						reviews--
						break
					}
				}
			}
		}
	})
}
