// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/testkit/contracttest"
)

func parse(t *testing.T, text string) shape.Type {
	t.Helper()
	ty, err := shape.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

func texts(list []conform.Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.In("base"))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

const base = `object({vpc_id = string, subnets = list(object({id = string, az = optional(string, "a")})), note = optional(string), ports = optional(map(number), {})})`

func TestPlanned(t *testing.T) {
	for sentence, test := range map[string]struct {
		change, breaks, unknown, delivered string
	}{
		"it fits, and defaults are filled in": {
			change:    `{"actions":["update"],"after":{"vpc_id":"v","subnets":[{"id":"s"}],"extra":1},"after_unknown":false}`,
			delivered: `{"note":null,"ports":{},"subnets":[{"az":"a","id":"s"}],"vpc_id":"v"}`,
		},
		"a number is a text": {
			change:    `{"actions":["update"],"after":{"vpc_id":5,"subnets":[],"ports":{"http":80.0}}}`,
			delivered: `{"note":null,"ports":{"http":80},"subnets":[],"vpc_id":"5"}`,
		},
		"leaves are unknown": {
			change:  `{"actions":["create"],"after":{"subnets":[{"az":"b"},{"id":"s"}],"note":null},"after_unknown":{"vpc_id":true,"subnets":[{"id":true},{}]}}`,
			unknown: "base.subnets[0].id is unknown until the apply; base.vpc_id is unknown until the apply",
		},
		"all is unknown": {
			change:  `{"actions":["create"],"after_unknown":true}`,
			unknown: "base is unknown until the apply",
		},
		"an attribute is missing, another one unknown": {
			change:  `{"actions":["update"],"after":{},"after_unknown":{"vpc_id":true}}`,
			breaks:  "base.subnets is missing (list)",
			unknown: "base.vpc_id is unknown until the apply",
		},
		"attributes of elements are missing": {
			change: `{"actions":["update"],"after":{"vpc_id":"v","subnets":[{"id":"s"},{"ID":"s"},{}]}}`,
			breaks: "base.subnets[1].id is missing (string), as are 1 others like it",
		},
		"null": {
			change: `{"actions":["update"],"after":{"vpc_id":null,"subnets":[null]}}`,
			breaks: "base.subnets[0] is null (object is required); base.vpc_id is null (string is required)",
		},
		"all is null": {change: `{"actions":["no-op"],"after":null}`, breaks: "base is null (object is required)"},
		"other types": {
			change: `{"actions":["update"],"after":{"vpc_id":["v"],"subnets":{"a":{"id":"s"}},"ports":{"http":"80"}}}`,
			breaks: "base.ports.http is string, not number; base.subnets is object, not list; base.vpc_id is list, not string",
		},
		"it is gone":      {change: `{"actions":["delete"],"before":{},"after":null}`, breaks: "base is not an output any more"},
		"it is sensitive": {change: `{"actions":["create"],"after":{"vpc_id":"v","subnets":[]},"after_sensitive":true}`, breaks: "base is sensitive, and the contract names no private path"},
	} {
		t.Run(sentence, func(t *testing.T) {
			output, err := document.Planned([]byte(test.change))
			if err != nil {
				t.Fatal(err)
			}
			r := conform.Check(parse(t, base), paths.Set{}, output)
			if diff := cmp.Diff([2]string{test.breaks, test.unknown}, [2]string{texts(r.Breaks), texts(r.Unknown)}); diff != "" {
				t.Error(diff)
			}
			want := map[[2]bool]conform.Outcome{{true, true}: conform.Breaks, {true, false}: conform.Breaks, {false, true}: conform.Unknown}[[2]bool{test.breaks != "", test.unknown != ""}]
			if want == "" {
				want = conform.Fits
				text, err := document.Canonical(r.Value)
				if diff := cmp.Diff(test.delivered, string(text)); diff != "" || err != nil {
					t.Error(diff, err)
				}
			}
			if r.Outcome() != want {
				t.Errorf("%s, want %s", r.Outcome(), want)
			}
		})
	}
}

func TestASensitiveOutputOfAPrivateContract(t *testing.T) {
	private := paths.Of(paths.Path{}.Attribute("password"))
	r := conform.Check(parse(t, "object({password = string})"), private, document.Output{
		Sensitive: true, Value: cty.ObjectVal(map[string]cty.Value{"password": cty.StringVal("x").Mark("sensitive")}),
	})
	if r.Outcome() != conform.Fits || r.Value.IsMarked() {
		t.Errorf("%+v", r)
	}
}

func TestACollectionOfSeveralTypes(t *testing.T) {
	v, err := document.Parse([]byte(`{"a":["x",{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := conform.Check(parse(t, "object({a = list(any)})"), paths.Set{}, document.Output{Value: v})
	if got := texts(r.Breaks); got != "base is a collection of several types, not object({a = list(any)})" {
		t.Error(got)
	}
}

func TestLaws(t *testing.T) {
	t.Run("what a producer writes fits, and so does what is delivered of it", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			ty := contracttest.Type(t)
			r := conform.Check(ty, paths.Set{}, document.Output{Value: contracttest.Written(t, ty)})
			if r.Outcome() != conform.Fits {
				if strings.Contains(ty.String(), "any") && len(r.Breaks) == 1 && r.Breaks[0].Got == "a collection of several types" {
					t.Skip("a random collection of any has several types")
				}
				t.Fatalf("%s: %s", ty, texts(r.Breaks))
			}
			again := conform.Check(ty, paths.Set{}, document.Output{Value: r.Value})
			first, err := document.Canonical(r.Value)
			if err != nil || again.Outcome() != conform.Fits || len(again.Extra) > 0 {
				t.Fatalf("%s: %#v: %s, %v", ty, r.Value, texts(again.Breaks), err)
			}
			if second, err := document.Canonical(again.Value); err != nil || string(second) != string(first) {
				t.Fatalf("%s: %s became %s, %v", ty, first, second, err)
			}
			// It is kept as JSON, and read back.
			kept, err := document.Parse(first)
			if err != nil {
				t.Fatal(err)
			}
			if back := conform.Check(ty, paths.Set{}, document.Output{Value: kept}); back.Outcome() != conform.Fits {
				t.Fatalf("%s: %s: %s", ty, first, texts(back.Breaks))
			}
		})
	})
	t.Run("a value of a type that fits another type fits that, too", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			given, wanted := contracttest.Type(t), contracttest.Type(t)
			if len(shape.Fits(given, wanted)) > 0 {
				return
			}
			delivered := conform.Check(given, paths.Set{}, document.Output{Value: contracttest.Delivered(t, given)})
			if delivered.Outcome() != conform.Fits {
				if !strings.Contains(given.String(), "any") {
					t.Fatalf("%s: %s", given, texts(delivered.Breaks))
				}
				t.Skip("a random collection of any has several types")
			}
			if r := conform.Check(wanted, paths.Set{}, document.Output{Value: delivered.Value}); r.Outcome() != conform.Fits {
				t.Fatalf("%s fits %s: %s", given, wanted, texts(r.Breaks))
			}
		})
	})
	t.Run("findings of random values are at paths of the type, and unknown ones never break", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			ty, other := contracttest.Type(t), contracttest.Type(t)
			r := conform.Check(ty, paths.Set{}, document.Output{Value: contracttest.Written(t, other)})
			for _, f := range r.Breaks {
				if _, err := ty.At(f.Path); err != nil && f.Why != conform.OtherType {
					t.Fatalf("%s: %v", ty, err)
				}
			}
			if u := conform.Check(ty, paths.Set{}, document.Output{Value: cty.DynamicVal}); u.Outcome() != conform.Unknown {
				t.Fatalf("%s: %s", ty, u.Outcome())
			}
		})
	})
}
