// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestQuantile(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"nothing has none":                        {nil, 0.5, 0},
		"one value is all of them":                {[]float64{7}, 0.9, 7},
		"the middle of an odd number":             {[]float64{9, 1, 5}, 0.5, 5},
		"between the two middle ones of an even":  {[]float64{4, 1, 2, 3}, 0.5, 2.5},
		"the largest":                             {[]float64{3, 1, 2}, 1, 3},
		"a tenth of the way from first to second": {[]float64{10, 20}, 0.1, 11},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quantile(c.values, c.q); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestComparison(t *testing.T) {
	const ms = time.Millisecond
	c := comparison{yuba: []time.Duration{30 * ms, 20 * ms, 400 * ms}, byHand: []time.Duration{15 * ms, 10 * ms, 20 * ms},
		yubaCPU: 120 * ms, byHandCPU: 60 * ms}
	got := c.result("name", "what")
	if got.Value != 2 || got.CPURatio != 2 || got.Trials != 3 {
		t.Errorf("one slow trial counts for more than the median: %+v", got)
	}
}

func TestVerdict(t *testing.T) {
	l := &limit{Target: ptr.To(2.0), Measured: ptr.To(1.2), Slack: 1.5}
	got := map[float64]string{}
	for _, v := range []float64{1.2, 1.7, 1.9, 2, 2.1} {
		got[v] = l.verdict(v)
	}
	want := map[float64]string{1.2: "ok", 1.7: "ok", 1.9: "worse than before", 2: "worse than before", 2.1: "OVER TARGET"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if got := (*limit)(nil).verdict(1); got != "" {
		t.Errorf("a number without a limit is judged %q", got)
	}
}

func TestEveryLimitIsComplete(t *testing.T) {
	limits, err := readLimits()
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range limits {
		unmeasured := l.Measured == nil && l.Trials == 0 && l.Slack == 0
		switch {
		case unmeasured && l.Target == nil:
			t.Errorf("%s has neither a target nor a measurement", name)
		case !unmeasured && (l.Measured == nil || l.Trials <= 0 || l.Slack < 1):
			t.Errorf("%s lacks a measurement, its trials or its slack: %+v", name, *l)
		}
	}
}

func TestWhatWasMeasuredIsBrokenIntoLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                 {""},
		"one":              {"one"},
		"one two":          {"one two"},
		"one two three":    {"one two", "three"},
		"onetwothree four": {"onetwothree", "four"},
	} {
		if got := wrapped(text, 8); !slices.Equal(got, want) {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}
