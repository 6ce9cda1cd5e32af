// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// ask is Allocate without an expected error.
func ask(t *testing.T, a *Asking, pool string, smallest, largest int64) int64 {
	t.Helper()
	n, err := a.Allocate(pool, smallest, largest)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheSmallestFreeOneIsGiven(t *testing.T) {
	p := New()
	p.Keep("a", map[string]int64{"redis": 0})
	p.Keep("b", map[string]int64{"redis": 2, "port": 7000})
	for i, want := range []int64{1, 3, 4} {
		if got := ask(t, p.For(fmt.Sprint("new-", i), nil), "redis", 0, 15); got != want {
			t.Errorf("new-%d got %d, want %d", i, got, want)
		}
	}
	if got := ask(t, p.For("new-0", nil), "port", 7000, 7999); got != 7001 {
		t.Errorf("the port is %d", got)
	}
	if got := ask(t, p.For("new-1", nil), "other", -5, 5); got != -5 {
		t.Errorf("of a pool of its own it got %d", got)
	}
}

func TestAnOwnerKeepsWhatItHas(t *testing.T) {
	for sentence, c := range map[string]struct {
		kept map[string]int64
		had  map[string]int64
		want int64
	}{
		"what the tenant has":                          {map[string]int64{"redis": 9}, map[string]int64{"redis": 9}, 9},
		"what another tenant of the owner has":         {map[string]int64{"redis": 9}, nil, 9},
		"even when it is out of the range now":         {map[string]int64{"redis": 99}, map[string]int64{"redis": 99}, 99},
		"the tenant's own, when two say different":     {map[string]int64{"redis": 9}, map[string]int64{"redis": 8}, 8},
		"nothing of this pool, so something new of it": {map[string]int64{"port": 9}, map[string]int64{"port": 9}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := New()
			p.Keep("acme", c.kept)
			if got := ask(t, p.For("acme", c.had), "redis", 0, 15); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestTemplatesOfOneOwnerShare(t *testing.T) {
	p := New()
	one, two, other := p.For("acme", nil), p.For("acme", nil), p.For("beta", nil)
	first := ask(t, one, "redis", 0, 15)
	if again := ask(t, one, "redis", 0, 15); again != first {
		t.Errorf("asked again, it is %d and not %d", again, first)
	}
	if second := ask(t, two, "redis", 4, 15); second != first {
		t.Errorf("the other template got %d and not %d", second, first)
	}
	if n := ask(t, other, "redis", 0, 15); n == first {
		t.Errorf("another owner got %d, too", n)
	}
	if diff := cmp.Diff(map[string]int64{"redis": first}, two.Numbers()); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestAPoolThatIsFull(t *testing.T) {
	p := New()
	for i := range 16 {
		ask(t, p.For(fmt.Sprint(i), nil), "redis", 0, 15)
	}
	a := p.For("late", map[string]int64{"port": 1})
	_, err := a.Allocate("redis", 0, 15)
	if err == nil || !strings.Contains(err.Error(), `pool "redis" has no free integer between 0 and 15`) {
		t.Fatalf("error is %v", err)
	}
	if n := ask(t, a, "redis", 0, 16); n != 16 {
		t.Errorf("with a larger range it got %d", n)
	}
	if diff := cmp.Diff(map[string]int64{"port": 1, "redis": 16}, a.Numbers()); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func TestARenderingThatFailsTakesNothing(t *testing.T) {
	p := New()
	p.Keep("acme", map[string]int64{"port": 1})
	a := p.For("acme", map[string]int64{"port": 1})
	ask(t, a, "redis", 0, 15)
	ask(t, a, "port", 0, 15)
	a.Undo()
	if n := ask(t, p.For("beta", nil), "redis", 0, 15); n != 0 {
		t.Errorf("a released integer is not reused; got %d", n)
	}
	if n := ask(t, p.For("gamma", nil), "port", 1, 1<<20); n != 2 {
		t.Errorf("an earlier integer was reused: %d", n)
	}
	if n := ask(t, p.For("acme", nil), "redis", 0, 15); n != 1 {
		t.Errorf("the next rendering got %d", n)
	}
}

func TestRestoredTenantsWithTheSameIntegerKeepIt(t *testing.T) {
	p := New()
	p.Keep("a", map[string]int64{"redis": 1})
	p.Keep("b", map[string]int64{"redis": 1})
	for _, owner := range []string{"a", "b"} {
		if n := ask(t, p.For(owner, nil), "redis", 0, 15); n != 1 {
			t.Errorf("%s has %d", owner, n)
		}
	}
	if n := ask(t, p.For("c", nil), "redis", 1, 15); n != 2 {
		t.Errorf("c got %d", n)
	}
}

func TestQuestionsThatMakeNoSense(t *testing.T) {
	many := map[string]int64{}
	for i := range maxPools {
		many[fmt.Sprint("p", i)] = 1
	}
	for sentence, c := range map[string]struct {
		pool              string
		smallest, largest int64
		had               map[string]int64
		want              string
	}{
		"a range with nothing in it": {"redis", 5, 4, nil, "the range from 5 to 4 is empty"},
		"a pool without a name":      {"", 0, 1, nil, "1 to 63 characters"},
		"a name that is too long":    {strings.Repeat("x", 64), 0, 1, nil, "has 64"},
		"a name with other signs":    {"a/b", 0, 1, nil, `"a/b" has others`},
		"a pool too many":            {"redis", 0, 1, many, "64 pools, which is the limit"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := New().For("acme", c.had)
			_, err := a.Allocate(c.pool, c.smallest, c.largest)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
			if len(a.Numbers()) != len(c.had) {
				t.Errorf("numbers are %v", a.Numbers())
			}
		})
	}
}

func TestTheEndsOfWhatIntegersCanBe(t *testing.T) {
	p := New()
	for i, want := range []int64{math.MaxInt64 - 1, math.MaxInt64} {
		if got := ask(t, p.For(fmt.Sprint(i), nil), "p", math.MaxInt64-1, math.MaxInt64); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if n, err := p.For("more", nil).Allocate("p", math.MaxInt64-1, math.MaxInt64); err == nil {
		t.Errorf("got %d", n)
	}
	if n := ask(t, p.For("least", nil), "p", math.MinInt64, math.MaxInt64); n != math.MinInt64 {
		t.Errorf("got %d", n)
	}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New()
		// has is the observed result: each owner's integers.
		has := map[string]map[string]int64{}
		owner := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		pool := rapid.SampledFrom([]string{"p", "q"})
		for range rapid.IntRange(1, 40).Draw(t, "questions") {
			who, which := owner.Draw(t, "owner"), pool.Draw(t, "pool")
			smallest := int64(rapid.IntRange(0, 3).Draw(t, "smallest"))
			largest := smallest + int64(rapid.IntRange(0, 4).Draw(t, "width"))
			if rapid.IntRange(0, 9).Draw(t, "new reading") == 0 {
				p = New()
				for o, numbers := range has {
					p.Keep(o, numbers)
				}
			}
			a := p.For(who, has[who])
			n, err := a.Allocate(which, smallest, largest)
			had, kept := has[who][which]
			taken := map[int64]bool{}
			for o, numbers := range has {
				if v, ok := numbers[which]; ok && o != who {
					taken[v] = true
				}
			}
			free := smallest
			for taken[free] {
				free++
			}
			switch {
			case kept && (err != nil || n != had):
				t.Fatalf("%s had %d of %s and has %d now (%v)", who, had, which, n, err)
			case kept:
			case err != nil && free <= largest:
				t.Fatalf("%d is free and was not given: %v", free, err)
			case err == nil && n != free:
				t.Fatalf("%d was given, and %d is free", n, free)
			}
			if err != nil {
				continue
			}
			if rapid.IntRange(0, 4).Draw(t, "failed rendering") == 0 {
				a.Undo()
				continue
			}
			has[who] = a.Numbers()
		}
	})
}
