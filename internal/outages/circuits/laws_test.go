// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// These hold at every moment, for all events in any order.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFleet(t)
		// down reports which provider's runs fail.
		down := false
		for range rapid.IntRange(1, 200).Draw(r, "steps") {
			s := stackNo(rapid.SampledFrom([]string{"a", "b"}).Draw(r, "namespace"), rapid.IntRange(0, 9).Draw(r, "stack"))
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				down = !down
			case 1:
				f.book.Forget(s, f.now)
			case 2:
				f.book.Decline(s, f.now)
			case 3:
				f.end(s, func(*Ended) {})
			default:
				if down {
					f.fails(s, unavailable)
				} else {
					f.fine(s)
				}
			}
			wake := f.tick(time.Duration(rapid.IntRange(0, 120).Draw(r, "seconds")) * time.Second)
			check(r, f, wake)
		}
		// After the outage every circuit closes: no stack waits forever.
		for range 100 {
			if f.open() == nil {
				return
			}
			for _, s := range f.tick(f.book.Options.MaxPause) {
				f.fine(s)
			}
		}
		r.Fatal("the outage is over, and a circuit is open")
	})
}

func check(r *rapid.T, f *fleet, wake []Stack) {
	open := f.open() // open fails if there are two
	if len(wake) > 1 {
		r.Fatalf("%d stacks are probed at a time", len(wake))
	}
	if open == nil {
		if len(wake) > 0 {
			r.Fatal("a stack is probed while nothing is open")
		}
		return
	}
	if next := f.book.Next(); next.IsZero() {
		r.Fatal("a circuit is open, and nothing is ever due")
	}
	probes := 0
	for _, m := range open.Members(100) {
		cover, ok := f.book.Cover(m, nil)
		if !ok || !cover.Open || !cover.Failed {
			r.Fatalf("a member is not covered: %+v", cover)
		}
		if cover.Probe {
			probes++
		}
	}
	if probes > 1 {
		r.Fatalf("%d probes at a time", probes)
	}
}
