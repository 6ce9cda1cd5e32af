// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// pools are the numbers of a test.
type pools map[string]int64

func (p pools) Allocate(pool string, least, most int64) (int64, error) {
	number, ok := p[pool]
	if !ok || number < least || number > most {
		return 0, errors.New("the pool " + pool + " has no number left")
	}
	return number, nil
}

func TestFunctions(t *testing.T) {
	data := map[string]any{"url": "https://user@Shop.example.org:8443/x?y", "uid": "acme", "n": "3", "f": "2.5", "yes": "Yes", "no": "", "null": nil,
		"long": strings.Repeat("ä", 40), "json": `{"tier": "gold", "count": 2000000, "list": [1, 2]}`}
	for in, want := range map[string]string{
		`{{ toHost .url }}`:                           "Shop.example.org",
		`{{ toHost "example.org:80" }}`:               "example.org",
		`{{ .long | trunc63 | len }}`:                 "62",
		`{{ repeat 70 "x" | trunc63 | len }}`:         "63",
		`{{ sha1sum "test" }}`:                        "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
		`{{ .uid | sha1sum | trunc 2 }}`:              "29",
		`{{ (fromJson .json).tier }}`:                 "gold",
		`{{ (fromJson .json).count }}`:                "2000000",
		`{{ fromJson "{" | toJson }}`:                 "{}",
		`{{ (fromJson .uid).tier | default "none" }}`: "none",
		`{{ fromJson "{} x" | toJson }}`:              "{}",
		`{{ (fromJson "{\"id\": 1234567890123456789}").id }} {{ (fromJson "[-1234567890123456]") | first | int }}`: "1234567890123456789 -1234567890123456",
		`{{ printf "%.0f" (fromJson "7") }}`:                                                                                    "7",
		`{{ quote "a\"b" 3 }} {{ squote "a" true }}`:                                                                            `"a\"b" "3" 'a' 'true'`,
		`{{ hcl "a \"b\" ${c} %{d} $${e} <\\b>" }}`:                                                                             `"a \"b\" $${c} %%{d} $$${e} <\\b>"`,
		`{{ hcl (fromJson "{\"a${\": [1, null, true]}") }}{{ hcl 3 }}{{ hcl "\b\f" }}`:                                          `{"a$${":[1,null,true]}3"\u0008\u000c"`,
		`{{ int .n }} {{ int "2.9" }} {{ int -2.9 }} {{ int true }} {{ int " 7 " }} {{ int 5 }}`:                                "3 2 -2 1 7 5",
		`{{ int "9223372036854775807" }} {{ (fromJson .json).count | int }}`:                                                    "9223372036854775807 2000000",
		`{{ float .f }} {{ float "3" }} {{ float 2 }} {{ float false }} {{ float "1e3" }}`:                                      "2.5 3 2 0 1000",
		`{{ bool .yes }} {{ bool .no }} {{ bool "on" }} {{ bool "0" }} {{ bool 0 }} {{ bool 0.5 }} {{ bool "2.5" }}`:            "true false true false false true true",
		`{{ add (int .n) 4 }} {{ if bool .yes }}x{{ end }}`:                                                                     "7 x",
		`{{ allocate "redis" 0 15 }} {{ allocate "redis" (int "0") (add 10 5) }} {{ printf "6%03d" (allocate "port" 1 "99") }}`: "4 4 6042",
	} {
		d := dialect(pools{"redis": 4, "port": 42}.Allocate)
		if got, err := d.Text("x", in, data); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestFunctionsRefuse(t *testing.T) {
	data := map[string]any{"secret": "s3cr3t", "null": nil, "list": []any{"s3cr3t"}}
	for in, want := range map[string]string{
		`{{ int .secret }}`:                "x: int: the value is not a number",
		`{{ int "1e30" }}`:                 "x: int: the value is not a number",
		`{{ int "9223372036854775808" }}`:  "x: int: the value is not a number",
		`{{ int .list }}`:                  "x: int: the value is not a number",
		`{{ int .missing }}`:               `x: int: the number is missing; set a default, as in {{ .x | default "1" | int }}`,
		`{{ hcl .missing }}`:               `x: hcl: the value is missing; set a default, as in {{ .x | default "" | hcl }}`,
		`{{ .missing | quote }}`:           `x: quote: the value is missing; set a default, as in {{ .x | default "" | quote }}`,
		`{{ squote "a" .null }}`:           `x: squote: the value is missing; set a default, as in {{ .x | default "" | squote }}`,
		`{{ float "" }}`:                   `x: float: the number is missing; set a default, as in {{ .x | default "1" | float }}`,
		`{{ float "NaN" }}`:                "x: float: the value is not a number",
		`{{ float "-inf" }}`:               "x: float: the value is not a number",
		`{{ bool .secret }}`:               "x: bool: the value is neither true nor false; write true, yes, on or 1, or false, no, off, 0 or nothing",
		`{{ bool .null }}`:                 "x: bool: the value is neither true nor false; write true, yes, on or 1, or false, no, off, 0 or nothing",
		`{{ allocate "full" 0 3 }}`:        "x: the pool full has no number left",
		`{{ allocate "redis" 15 0 }}`:      "x: allocate: the range from 15 to 0 is empty",
		`{{ allocate "" 0 1 }}`:            `x: allocate: the name of a pool must have 1 to 63 bytes, as in {{ allocate "redis" 0 15 }}`,
		`{{ allocate "redis" 0 .secret }}`: "x: allocate: the value is not a number",
		`{{ allocate "redis" .null 3 }}`:   `x: allocate: the number is missing; set a default, as in {{ .x | default "1" | int }}`,
		`{{ now }}`:                        "x: now is not available in templates: its result depends on the time, so each rendering would be a change",
		`{{ env "HOME" }}`:                 "x: env is not available in templates: templates cannot access the server that renders them",
		`{{ randAlphaNum 8 }}`:             "x: randAlphaNum is not available in templates: its result is random, so each rendering would be a change",
	} {
		if _, err := dialect(pools{"redis": 1}.Allocate).Text("x", in, data); err == nil || err.Error() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzFunctions(f *testing.F) {
	for _, seed := range []string{"", "1", "-0", "1e400", "0x1p-1074", "９", "https://[::1]:8/", "{\"a\":[]}", "\xff\xfe", strings.Repeat("ä", 64), "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if number, err := toFloat(in); err == nil && (math.IsNaN(number) || math.IsInf(number, 0)) {
			t.Errorf("float %q is %v", in, number)
		}
		if whole, err := toInt(in); err == nil {
			if number, err := toFloat(in); err != nil || math.Abs(number-float64(whole)) > math.Max(1, math.Abs(number)/1e15) {
				t.Errorf("%q is %d as int and %v as float, %v", in, whole, number, err)
			}
		}
		if cut := trunc63(in); len(cut) > 63 || !strings.HasPrefix(in, cut) || utf8.ValidString(in) && !utf8.ValidString(cut) {
			t.Errorf("%q is cut to %q", in, cut)
		}
		for _, text := range []string{`{{ toHost .x }}`, `{{ fromJson .x | toJson }}`, `{{ .x }}`} {
			got, err := dialect(nil).Text("x", text, map[string]any{"x": in})
			if text == `{{ .x }}` && (err != nil || got != in) {
				t.Errorf("%q becomes %q, %v", in, got, err)
			}
		}
	})
}
