// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "base",
		"vpc_id":                 "base.vpc_id",
		"subnets[*].id":          "base.subnets[*].id",
		"zones[0]":               "base.zones[0]",
		`tags["a.b"]`:            `base.tags["a.b"]`,
		`tags["id"]`:             "base.tags.id",
		`tags["say \"hi\"]"]`:    `base.tags["say \"hi\"]"]`,
		"[*]":                    "base[*]",
		"Größe-1":                "base.Größe-1",
		"a..b":                   "column 3: expected a name",
		".a":                     "column 1: the path is relative",
		"a.":                     "column 3: expected a name",
		"a[":                     "column 2: expected *",
		"a[-1]":                  "expected *, an index",
		"a[01]":                  "expected *, an index",
		"a[9999999]":             "an index up to 1000000",
		`a["x`:                   "does not end",
		`a["x"`:                  "expected a bracket after",
		`a["\xff"]`:              "escape that is not valid",
		"a b":                    "quoted in brackets",
		"a[0]b":                  "column 5: expected a dot or a bracket",
		"Größe b":                "column 1: expected a name",
		strings.Repeat("a.", 99): "at most 64 steps",
		strings.Repeat("a", 3e3): "at most 2048 bytes",
	} {
		p, err := Parse(text)
		got := p.In("base")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func drawPath(t *rapid.T) Path {
	step := rapid.Custom(func(t *rapid.T) Step {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Step{kind: each}
		case 1:
			return Step{kind: index, index: rapid.IntRange(0, 2).Draw(t, "index")}
		case 2:
			return Step{name: rapid.SampledFrom([]string{"a", "b", "a.b", "", `"`, "]", "é", "\n"}).Draw(t, "key")}
		}
		return Step{name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")}
	})
	return rapid.SliceOfN(step, 0, 4).Draw(t, "steps")
}

func TestLaws(t *testing.T) {
	t.Run("what was written is parsed to the same path", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			p := drawPath(t)
			got, err := Parse(p.String())
			if err != nil || got.Compare(p) != 0 {
				t.Fatalf("%q: %v, %v", p, got, err)
			}
		})
	})
	t.Run("a set does not depend on the order of its paths, and is its own paths' set", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			list := rapid.SliceOfN(rapid.Custom(drawPath), 0, 5).Draw(t, "paths")
			s := Of(list...)
			other := Of(rapid.Permutation(list).Draw(t, "other order")...)
			if s.String() != other.String() || Of(s.Paths()...).String() != s.String() || s.Union(other).String() != s.String() {
				t.Fatalf("%s, %s", s, other)
			}
			for _, p := range list {
				if !s.Contains(p) || !s.Meets(p) {
					t.Fatalf("%s lacks %s", s, p)
				}
			}
		})
	})
	t.Run("a set meets a path if and only if one of its paths does", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := Of(rapid.SliceOfN(rapid.Custom(drawPath), 0, 5).Draw(t, "paths")...)
			p := drawPath(t)
			if _, met := s.MetBy(p); met != s.Meets(p) {
				t.Fatalf("%s, %s: %v", s, p, met)
			}
		})
	})
}

func TestSets(t *testing.T) {
	parse := func(texts ...string) Set {
		var list []Path
		for _, text := range texts {
			p, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		return Of(list...)
	}
	for _, test := range []struct {
		set  Set
		want string
	}{
		{Set{}, "nothing"},
		{All(), "everything"},
		{parse(""), "everything"},
		{parse("b", "a.x", "a", "a.y"), "a, b"},
		{parse("a[*].x", "a[0].y"), "a[0].y, a[*].x"},
		{parse("a[*].x", "a[0].y").Attribute("a").Element(0), "x, y"},
		{parse("a[*].x", "a[0].y").Attribute("a").Element(1), "x"},
	} {
		if diff := cmp.Diff(test.want, test.set.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a.b[*].c[0]", `a["x\u00e9"]`, "a[", ".a", `["`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(p.String()); err != nil || again.Compare(p) != 0 {
			t.Errorf("%q: %q: %v", text, p, err)
		}
	})
}
