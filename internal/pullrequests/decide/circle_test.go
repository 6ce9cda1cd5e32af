// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// waiting reads "7>8@3": 7 has asked at 3 for a stack that 8 has locked.
func waiting(texts string) (all []Waiting) {
	for _, text := range strings.Fields(texts) {
		edge, at, _ := strings.Cut(text, "@")
		by, holder, _ := strings.Cut(edge, ">")
		var since int64
		fmt.Sscan(at, &since) //nolint:errcheck // the tests have numbers
		all = append(all, Waiting{By: by, For: holder, Since: time.Unix(since, 0)})
	}
	return all
}

func TestCircle(t *testing.T) {
	for sentence, c := range map[string]struct{ request, others, want string }{
		"nobody waits":                                 {"1>2@5", "", ""},
		"the other one waits for somebody else":        {"1>2@5", "2>3@1", ""},
		"two wait for each other, and this is later":   {"1>2@5", "2>1@1", "1 2"},
		"two wait for each other, and this is earlier": {"1>2@1", "2>1@5", ""},
		"three, and this is the latest":                {"1>2@5", "2>3@1 3>1@2", "1 2 3"},
		"three, and the second is the latest":          {"1>2@1", "2>3@5 3>1@2", ""},
		"three, and the third is the latest":           {"1>2@1", "2>3@2 3>1@5", ""},
		"four, with a way that leads nowhere":          {"1>2@9", "2>7@1 2>3@1 3>4@2 4>1@3 7>8@1", "1 2 3 4"},
		"the same second: names decide":                {"2>1@5", "1>2@5", "1 2"},
		"the same second: the other one ends":          {"1>2@5", "2>1@5", ""},
		"a circle of others":                           {"1>2@9", "2>3@1 3>2@2", ""},
		"a later circle and an earlier one":            {"1>2@5", "2>1@9 2>3@1 3>1@2", "1 2 3"},
	} {
		t.Run(sentence, func(t *testing.T) {
			request := waiting(c.request)[0]
			if got := strings.Join(Circle(request, append(waiting(c.others), request)), " "); got != c.want {
				t.Errorf("the circle is %q, want %q", got, c.want)
			}
		})
	}
}

// TestCirclesEnd: whatever waits for what, the requests that end leave no circle, and without a circle none ends.
func TestCirclesEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 2000 {
		var all []Waiting
		for range random.IntN(12) {
			by, holder := random.IntN(6), random.IntN(6)
			if by != holder {
				all = append(all, Waiting{By: fmt.Sprint(by), For: fmt.Sprint(holder), Since: time.Unix(random.Int64N(4), 0)})
			}
		}
		var left []Waiting
		ended := 0
		for _, w := range all {
			if Circle(w, all) == nil {
				left = append(left, w)
			} else {
				ended++
			}
		}
		if circular(left) {
			t.Fatalf("a circle is left of %v: %v", all, left)
		}
		if !circular(all) && ended > 0 {
			t.Fatalf("without a circle, %d requests end: %v", ended, all)
		}
	}
}

// circular takes away who waits for nobody until that is no one.
func circular(all []Waiting) bool {
	for {
		var next []Waiting
		for _, w := range all {
			for _, o := range all {
				if o.By == w.For {
					next = append(next, w)
					break
				}
			}
		}
		if len(next) == len(all) {
			return len(all) > 0
		}
		all = next
	}
}
