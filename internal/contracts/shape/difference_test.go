// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty/convert"
	"pgregory.net/rapid"

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

func texts(list []shape.Difference) string {
	var out []string
	for _, d := range list {
		out = append(out, d.In("base"))
	}
	return strings.Join(out, "; ")
}

func TestFits(t *testing.T) {
	for sentence, test := range map[string]struct{ given, wanted, want string }{
		"the same":                      {"object({a = string})", "object({a = string})", ""},
		"any takes everything":          {"object({a = string})", "any", ""},
		"any may be anything":           {"any", "string", "base is any, not string"},
		"a part is taken":               {"object({a = string, b = string})", "object({a = string})", ""},
		"an attribute is missing":       {"object({a = string})", "object({a = string, b = number})", "base.b is missing (number)"},
		"an optional one may be":        {"object({a = string})", "object({a = string, b = optional(number)})", ""},
		"null where none is expected":   {"object({a = optional(string)})", "object({a = string})", "base.a may be null, and is required"},
		"a default is never null":       {`object({a = optional(string, "x")})`, "object({a = string})", ""},
		"numbers are texts":             {"number", "string", ""},
		"texts are not numbers":         {"string", "number", "base is string, not number"},
		"deep in a list":                {"object({subnets = list(object({id = string}))})", "object({subnets = list(object({id = string, cidr = string}))})", "base.subnets[*].cidr is missing (string)"},
		"a set is a list":               {"set(string)", "list(string)", ""},
		"a list is not a map":           {"list(string)", "map(string)", "base is list(string), not map(string)"},
		"a tuple is a list":             {"tuple([string, number])", "list(string)", ""},
		"a tuple's element is not":      {"tuple([string, number])", "list(number)", "base[0] is string, not number"},
		"a tuple without one type":      {"tuple([string, list(string)])", "list(any)", "base is tuple([string, list(string)]), not list(any)"},
		"a list is not a tuple":         {"list(string)", "tuple([string])", "base is list(string), not tuple([string])"},
		"tuples of different lengths":   {"tuple([string])", "tuple([string, string])", "base has 1 elements, not 2"},
		"an object is a map":            {"object({a = string, b = number})", "map(string)", ""},
		"with null it is not":           {"object({a = optional(string)})", "map(string)", "base.a may be null, and is required"},
		"a map is not an object":        {"map(string)", "object({a = string})", "base is map(string), not object({a = string})"},
		"two differences":               {"object({a = string, b = bool})", "object({a = number, b = number})", "base.a is string, not number; base.b is bool, not number"},
		"an object of its own defaults": {`object({a = optional(object({b = optional(string)}), {})})`, "object({a = object({b = optional(string)})})", ""},
	} {
		if diff := cmp.Diff(test.want, texts(shape.Fits(parse(t, test.given), parse(t, test.wanted)))); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestCompare(t *testing.T) {
	for sentence, test := range map[string]struct {
		before, after    string
		level            shape.Level
		readers, writers string
	}{
		"nothing":                          {"object({a = string})", "object({a=string})", shape.Same, "", ""},
		"an optional attribute is added":   {"object({a = string})", "object({a = string, b = optional(string)})", shape.Minor, "", ""},
		"one with a default is added":      {"object({a = string})", `object({a = string, b = optional(string, "x")})`, shape.Minor, "", ""},
		"a required one is added":          {"object({a = string})", "object({a = string, b = string})", shape.Major, "", "base.b is missing (string)"},
		"an attribute is removed":          {"object({a = string, b = string})", "object({a = string})", shape.Major, "base.b is missing (string)", ""},
		"an optional one is removed":       {"object({b = optional(string)})", "object({})", shape.Major, "base.b is missing (string)", ""},
		"it becomes optional":              {"object({a = string})", "object({a = optional(string)})", shape.Major, "base.a may be null, and is required", ""},
		"it becomes optional, defaulted":   {"object({a = string})", `object({a = optional(string, "x")})`, shape.Minor, "", ""},
		"it becomes required":              {"object({a = optional(string)})", "object({a = string})", shape.Major, "", "base.a may be null, and is required"},
		"its default is taken away":        {`object({a = optional(string, "x")})`, "object({a = optional(string)})", shape.Major, "base.a may be null, and is required", ""},
		"its default changes":              {`object({a = optional(string, "x")})`, `object({a = optional(string, "y")})`, shape.Minor, "", ""},
		"a number becomes a text":          {"object({a = number})", "object({a = string})", shape.Major, "base.a is string, not number", ""},
		"a text becomes a number":          {"object({a = string})", "object({a = number})", shape.Major, "", "base.a is string, not number"},
		"an attribute of elements removed": {"map(list(object({a = string, b = optional(bool)})))", "map(list(object({a = string})))", shape.Major, "base[*][*].b is missing (bool)", ""},
	} {
		got := shape.Compare(parse(t, test.before), parse(t, test.after))
		want := [3]string{test.level.String(), test.readers, test.writers}
		if diff := cmp.Diff(want, [3]string{got.Level.String(), texts(got.Readers), texts(got.Writers)}); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestReads(t *testing.T) {
	const contract = "object({vpc = string, subnets = list(object({id = string, cidr = string})), tags = map(string), zones = set(string)})"
	for variable, want := range map[string]string{
		"any":                    "everything",
		"object({vpc = string})": "vpc",
		"object({subnets = list(object({id = string})), zones = list(string), absent = optional(string)})": "subnets[*].id, zones[*]",
		"object({subnets = list(object({})), tags = map(string)})":                                         "subnets[*], tags[*]",
		"object({subnets = any})": "subnets",
		"object({})":              "nothing",
		"map(string)":             "everything",
	} {
		if got := shape.Reads(parse(t, contract), parse(t, variable)).String(); got != want {
			t.Errorf("%s reads %s, want %s", variable, got, want)
		}
	}
}

func TestAt(t *testing.T) {
	ty := parse(t, "object({vpc = string, subnets = list(object({id = string})), tags = map(number), zones = set(string), pair = tuple([bool]), x = any})")
	for path, want := range map[string]string{
		"": ty.String(), "subnets[*].id": "string", "subnets[7]": "object({id = string})", "tags.env": "number", "tags[*]": "number",
		"zones[*]": "string", "pair[0]": "bool", "pair[*]": "bool", "x.whatever[3]": "any",
		"vpc_id":          `the value has no attribute "vpc_id"; it has pair, subnets, tags, vpc, x, zones`,
		`["100%"]`:        `the value has no attribute "100%"`,
		"subnets.id":      "subnets is a list and has no attributes",
		"subnets[*].cidr": `subnets[*] has no attribute "cidr"; it has id`,
		"zones[0]":        "zones is a set, whose elements have no index",
		"pair[1]":         "pair has only 1 elements",
		"vpc[*]":          "vpc is a string, not a list",
		"vpc[0]":          "vpc is a string and has no indexes",
	} {
		p, err := paths.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ty.At(p)
		if text := got.String(); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %s", path, text, err, want)
		}
	}
}

func TestLaws(t *testing.T) {
	t.Run("each value of a type that fits another converts to it, as OpenTofu does it", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			given, wanted := contracttest.Type(t), contracttest.Type(t)
			if rapid.Bool().Draw(t, "the same") {
				wanted = given
			}
			if len(shape.Fits(given, wanted)) > 0 {
				return
			}
			v := contracttest.Delivered(t, given)
			from, _ := given.Constraint()
			delivered, err := convert.Convert(v, from)
			if err != nil {
				t.Skip("a random set or list of any has no one type")
			}
			to, defaults := wanted.Constraint()
			if defaults != nil {
				delivered = defaults.Apply(delivered)
			}
			if _, err := convert.Convert(delivered, to); err != nil {
				t.Fatalf("%s fits %s, and %#v does not convert: %v", given, wanted, v, err)
			}
		})
	})
	t.Run("each type fits itself and any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			ty := contracttest.Type(t)
			if found := append(shape.Fits(ty, ty), shape.Fits(ty, shape.Type{})...); len(found) > 0 {
				t.Fatalf("%s: %v", ty, found)
			}
			if c := shape.Compare(ty, ty); c.Level != shape.Same {
				t.Fatalf("%s changed: %v", ty, c)
			}
		})
	})
	t.Run("who reads a type reads each later one that keeps its promise", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := contracttest.Type(t), contracttest.Type(t), contracttest.Type(t)
			promise := shape.Compare(b, a) // what b promised, a keeps
			// A map also takes attributes that are added later, and any wants one type of all of them.
			open := strings.Contains(c.String(), "map(") || strings.Contains(c.String(), "any")
			if open || len(promise.Readers) > 0 || len(shape.Fits(b, c)) > 0 {
				return
			}
			if found := shape.Fits(a, c); len(found) > 0 {
				t.Fatalf("%s, %s, %s: %s", a, b, c, texts(found))
			}
		})
	})
	t.Run("differences and reads are at paths of the types", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			given, wanted := contracttest.Type(t), contracttest.Type(t)
			for _, p := range shape.Reads(given, wanted).Paths() {
				if _, err := given.At(p); err != nil {
					t.Fatalf("%s, %s: %v", given, wanted, err)
				}
			}
		})
	})
}
