// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// usual is a source that was looked at a minute ago and is due in nine.
func usual(change ...func(*Facts)) Facts {
	f := Facts{Now: now, Generation: 2, Looked: 2, LastLook: now.Add(-time.Minute), Interval: 10 * time.Minute}
	for _, c := range change {
		c(&f)
	}
	return f
}

func TestWhen(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts Facts
		want  Decision
	}{
		"not due: wait until it is": {usual(), Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(9 * time.Minute)}},
		"due: look":                 {usual(func(f *Facts) { f.LastLook = now.Add(-10 * time.Minute) }), Decision{Verb: Look, Reason: "interval"}},
		"jitter makes it due earlier": {usual(func(f *Facts) { f.Jitter, f.LastLook = -1, now.Add(-9*time.Minute-30*time.Second) }),
			Decision{Verb: Look, Reason: "interval"}},
		"jitter makes it due later": {usual(func(f *Facts) { f.Jitter, f.LastLook = 1, now.Add(-10*time.Minute) }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(30 * time.Second)}},
		"never looked at: look": {usual(func(f *Facts) { f.Looked = 0 }), Decision{Verb: Look, Reason: "first look"}},
		"changed: look":         {usual(func(f *Facts) { f.Generation = 3 }), Decision{Verb: Look, Fresh: true, Reason: "generation 3"}},
		"news: look":            {usual(func(f *Facts) { f.News = true }), Decision{Verb: Look, Reason: "news"}},
		"asked for: a fresh look": {usual(func(f *Facts) { f.Requested, f.Answered, f.News, f.Generation = "b", "a", true, 3 }),
			Decision{Verb: Look, Fresh: true, Reason: "requested at b"}},
		"asked for and looked at: nothing more": {usual(func(f *Facts) { f.Requested, f.Answered = "b", "b" }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(9 * time.Minute)}},
		"a request that was taken back is none": {usual(func(f *Facts) { f.Answered = "a" }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(9 * time.Minute)}},
		"a look is under way: wait for it": {usual(func(f *Facts) { f.Looking, f.Requested, f.Generation = true, "b", 3 }),
			Decision{Verb: Wait, Reason: "a look is under way"}},
		"suspended: rest, whoever asks": {usual(func(f *Facts) { f.Suspended, f.Requested, f.Looked = true, "b", 0 }),
			Decision{Verb: Rest, Reason: "the object is suspended"}},
		"deleted: rest": {usual(func(f *Facts) { f.Deleting, f.Suspended = true, true }), Decision{Verb: Rest, Reason: "the object is being deleted"}},
		"failed once: soon again": {usual(func(f *Facts) { f.Failures, f.LastLook = 1, now }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(2 * time.Second)}},
		"failed once and due: retry": {usual(func(f *Facts) { f.Failures = 1 }), Decision{Verb: Look, Reason: "retry after 1 failures"}},
		"failed often: at the interval": {usual(func(f *Facts) { f.Failures, f.LastLook = 1000, now }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(10 * time.Minute)}},
		"failed for good: at the interval": {usual(func(f *Facts) { f.Failures, f.Stalled = 1, true }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(9 * time.Minute)}},
		"an interval of nothing is a second": {usual(func(f *Facts) { f.Interval, f.LastLook = 0, now }),
			Decision{Verb: Wait, Reason: "not due", NextCheck: now.Add(time.Second)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, When(test.facts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	good := Content{Stored: "main@sha1:a", Present: true, Upstream: "main@sha1:a"}
	with := func(change func(*Content)) Content {
		c := good
		change(&c)
		return c
	}
	for sentence, test := range map[string]struct {
		content Content
		want    string
	}{
		"nothing is new":     {good, ""},
		"no artifact yet":    {with(func(c *Content) { c.Stored, c.Present = "", false }), "there is no artifact"},
		"new revision":       {with(func(c *Content) { c.Upstream = "main@sha1:b" }), "new upstream revision"},
		"other ignore":       {with(func(c *Content) { c.ConfigurationChanged = true }), "the object's spec selects other content"},
		"include changed":    {with(func(c *Content) { c.IncludesChanged = true }), "included artifacts differ"},
		"archive is damaged": {with(func(c *Content) { c.Present = false }), "the stored archive is missing or damaged"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Fetch(test.content); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever the facts: a source at rest is not looked at, a decision to wait says until when or for
// what, and nobody is hammered.
func TestLawsOfWhen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	flip := func() bool { return r.IntN(4) == 0 }
	for range 20_000 {
		f := Facts{Now: now, Deleting: flip(), Suspended: flip(), Looking: flip(), Generation: 1 + r.Int64N(3), Looked: r.Int64N(4),
			Requested: []string{"", "a", "b"}[r.IntN(3)], Answered: []string{"", "a", "b"}[r.IntN(3)], News: flip(), Stalled: flip(),
			LastLook: now.Add(-time.Duration(r.Int64N(int64(time.Hour)))), Failures: r.IntN(70), Interval: time.Duration(r.Int64N(int64(time.Hour))),
			Jitter: 2*r.Float64() - 1}
		d := When(f)
		if d.Verb == Look && (f.Deleting || f.Suspended || f.Looking) {
			t.Fatalf("%+v: %s", f, d)
		}
		if d.Verb == Wait && !f.Looking && !d.NextCheck.After(f.Now) {
			t.Fatalf("%+v: waits for nothing", f)
		}
		if d.Fresh && d.Verb != Look || d.Verb == Look && f.Requested != "" && f.Requested != f.Answered && !d.Fresh {
			t.Fatalf("%+v: fresh is %v", f, d.Fresh)
		}
		if due := f.Due().Sub(f.LastLook); due < min(f.Interval, time.Second)*19/20 || due > max(f.Interval, time.Second)*21/20 {
			t.Fatalf("%+v: due after %s", f, due)
		}
		if f.Failures > 1 && Backoff(f.Failures, f.Interval) < Backoff(f.Failures-1, f.Interval) {
			t.Fatalf("%+v: the backoff shrinks", f)
		}
	}
}
