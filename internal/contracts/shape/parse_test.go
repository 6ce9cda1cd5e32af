// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/testkit/contracttest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"string": "string",
		"object({ vpc_id = string, subnets = list(string), note = optional(string) })": "object({note = optional(string), subnets = list(string), vpc_id = string})",
		"object({\n  b = any # why\n  a = optional(number, -1.50)\n})":                 "object({a = optional(number, -1.5), b = any})",
		`object({a = optional(string, "$${x}\n")})`:                                    `object({a = optional(string, "$${x}\n")})`,
		`object({a = optional(map(string), {"a b": 1, c = "d"})})`:                     `object({a = optional(map(string), {"a b" = "1", c = "d"})})`,
		"object({a = optional(string, null)})":                                         "object({a = optional(string)})",
		"tuple([string, set(bool)])":                                                   "tuple([string, set(bool)])",
		"object({})":                                                                   "object({})",
	} {
		got, err := shape.Parse(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNotAType(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "line 1, column 1: The type is empty",
		"text":                                `line 1, column 1: Invalid type specification: The keyword "text" is not a valid type specification`,
		"object({\n  a = strin\n})":           `line 2, column 7: Invalid type specification: The keyword "strin"`,
		"object({a = string":                  "line 1, column",
		"object({a = optional(string, 1 2)}":  "line 1, column 32",
		"list":                                "requires one argument",
		"list(string, string)":                "line 1, column 14",
		"object({a = string, a = string})":    "line 1, column 21: Invalid type specification: Object constructor map keys must be unique",
		`object({"a b" = string})`:            "must be attribute names",
		`object({a = optional(number, "x")})`: "Invalid default value",
		`object({a = optional(string, upper("x"))})`:                           "Function calls not allowed",
		`object({a = optional(string, var)})`:                                  "Variables not allowed",
		`object({a = optional(string, "${1 + 1}")})`:                           "line 1, column 31: A type has no expressions",
		`object({a = optional(list(string), [for x in [1] : x])})`:             "line 1, column 36: A type has no expressions",
		`object({a = optional(number, 1 + 1)})`:                                "A type has no expressions",
		"string) + (string":                                                    "A type has no expressions",
		"string\n)\n(":                                                         "line",
		"object({a = optional(number, 1e1000000000)})":                         "line 1, column 30: The number is too large",
		strings.Repeat("list(", 101) + "any" + strings.Repeat(")", 99):         "nested too deeply",
		"object({a = optional(number, " + strings.Repeat("-", 50_000) + "1)})": "nested too deeply",
		strings.Repeat("a", 65<<10):                                            "at most 65536 are allowed",
		"object({a = optional(string, <<E\nx\nE\n)})":                          "A type has no expressions",
		"\xff": "not valid UTF-8",
	} {
		_, err := shape.Parse(text)
		var located *shape.Error
		if err == nil || !errors.As(err, &located) || !strings.Contains(err.Error(), want) || located.Line < 1 || located.Column < 1 {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func TestWhatIsWrittenIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := contracttest.Type(t)
		again, err := shape.Parse(ty.String())
		if err != nil || !again.Equal(ty) {
			t.Fatalf("%s: %s, %v", ty, again, err)
		}
		if of := shape.Of(ty.Constraint()); !of.Equal(ty) {
			t.Fatalf("%s became %s", ty, of)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"object({ vpc_id = string, subnets = list(string), note = optional(string) })", `object({a = optional(map(string), {"a b" = "c"})})`,
		"tuple([any, set(bool)])", "list(", "string)(", "object({a=optional(number,-1e5)})", "((string))", "/*",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ty, err := shape.Parse(text)
		if err != nil {
			var located *shape.Error
			if !errors.As(err, &located) || located.Line < 1 || located.Line > strings.Count(text, "\n")+1 || located.Column < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := shape.Parse(ty.String())
		if err != nil || !again.Equal(ty) {
			t.Errorf("%q: %q: %v", text, ty, err)
		}
		if found := shape.Fits(ty, ty); len(found) > 0 {
			t.Errorf("%q does not fit itself: %v", text, found)
		}
	})
}
