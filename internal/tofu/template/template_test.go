// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func data() map[string]any {
	return map[string]any{
		"Values": map[string]any{"name": "web", "count": float64(12345678), "half": 0.5, "list": []any{"a", "b"}, "none": nil, "on": true,
			"map": map[string]any{"z": "1", "a": "2"}},
		"vpc": map[string]any{"id": "vpc-1", "quoted": "a \"b\"\nc \\ ${x}"},
	}
}

func TestFile(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"text without templates stays":            {"resource \"x\" \"y\" {}\n", "resource \"x\" \"y\" {}\n"},
		"a value":                                 {`{{ .Values.name }}`, "web"},
		"a whole number keeps its digits":         {`{{ .Values.count }}`, "12345678"},
		"another number":                          {`{{ .Values.half }}`, "0.5"},
		"a truth":                                 {`{{ .Values.on }}`, "true"},
		"a list as Go writes it":                  {`{{ .Values.list }}`, "[a b]"},
		"a list as JSON":                          {`{{ .Values.list | toJson }}`, `["a","b"]`},
		"a value that is not there has a default": {`{{ .Values.missing | default "d" }}`, "d"},
		"null has a default":                      {`{{ default "d" .Values.none }}`, "d"},
		"a value that is not there is false":      {`{{ if .Values.missing }}x{{ else }}y{{ end }}`, "y"},
		"a loop over a map is in order":           {`{{ range $k, $v := .Values.map }}{{ $k }}={{ $v }};{{ end }}`, "a=2;z=1;"},
		"comparisons":                             {`{{ if eq .Values.name "web" }}a{{ end }}{{ if .Values.half | lt 0.1 }}b{{ end }}{{ if and (ne .Values.name "x") (gt .Values.half 0.1) }}c{{ end }}{{ if eq .Values.missing nil }}d{{ end }}`, "abcd"},
		"keys are in order":                       {`{{ keys .Values.map | join "," }} {{ values .Values.map | join "," }}`, "a,z 2,1"},
		"a defined template":                      {`{{ define "x" }}<{{ . }}>{{ end }}{{ template "x" .Values.name }}`, "<web>"},
		"a variable that changes":                 {`{{ $x := 1 }}{{ range .Values.list }}{{ $x = add $x 1 }}{{ end }}{{ $x }}`, "3"},
		"white space is trimmed":                  {"a\n{{- /* no */ -}}\nb", "ab"},
		"sprig's functions":                       {`{{ .Values.name | upper | quote }} {{ indent 2 "x" }} {{ printf "%05d" 42 }}`, `"WEB"   x 00042`},
		"a time that is given":                    {`{{ toDate "2006-01-02" "2020-02-03" | date "02.01.2006" }}`, "03.02.2020"},
		"braces of HCL stay":                      {`"${var.x}" {{ "{{" }}`, `"${var.x}" {{`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := File("main.tf.tpl", []byte(test.in), data())
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestFileSaysWhatIsWrongAndWhere(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"printed, a value that is not there":  {`{{ printf "%s-x" .Values.missing }}`, "main.tf.tpl:1:3: printf is given an argument that has no value; name an alternative, as in (.x | default \"\")"},
		"a text of a value that is not there": {`{{ .Values.missing | toString }}`, "main.tf.tpl:1:21: toString is given an argument that has no value; name an alternative, as in (.x | default \"\")"},
		"a value that is not there":           {"\n  {{ .Values.missing }}", "main.tf.tpl:2:5: .Values.missing has no value"},
		"a field of nothing":                  {"{{ .nope.id }}", "main.tf.tpl:1:3: .nope.id has no value"},
		"a field of a text":                   {"{{ .Values.name.x }}", "main.tf.tpl:1:10: at <.Values.name.x>: can't evaluate field x in type interface {}"},
		"a mistake of the template's":         {"a\n{{ if }}", "main.tf.tpl:2: missing value for if"},
		"an unknown function":                 {"{{ nope }}", `main.tf.tpl:1: function "nope" not defined`},
		"a function that is left out":         {"{{ now }}", "main.tf.tpl:1:3: now is not available in templates: its result depends on the time, so each rendering would be a change"},
		"the server's environment":            {`{{ env "HOME" }}`, "main.tf.tpl:1:3: env is not available in templates: templates cannot access the server that renders them"},
		"a time that is not given":            {`{{ date "2006" "x" }}`, "main.tf.tpl:1:3: it can format only a time or a number of seconds; other values would mean now"},
		"a message of the template's own":     {`{{ fail "set a name" }}`, "main.tf.tpl:1:3: set a name"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := File("main.tf.tpl", []byte(test.in), data())
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestErrorsShowNoData has functions and text/template itself complain about a secret.
func TestErrorsShowNoData(t *testing.T) {
	secret := map[string]any{"s": "s3cr3t", "l": []any{"s3cr3t"}, "m": map[string]any{"s3cr3t": "s3cr3t"}}
	for _, in := range []string{
		`{{ range .s }}{{ end }}`, `{{ mustFromJson .s }}`, `{{ index .l .s }}`, `{{ index .m .s .s }}`, `{{ semver .s }}`, `{{ .s.x }}`,
		`{{ mustToDate .s .s }}`, `{{ template "x" .s }}`, `{{ slice .l 1 .s }}`, `{{ mustRegexFind (print "(" .s) .s }}`, `{{ len 1 .s }}`, `{{ lt .s 1 }}`,
		`{{ urlParse (print "http://" .s "\x7f") }}`, `{{ repeat .s .s }}`, `{{ add .s | nope }}`, `{{ call .s }}`, `{{ eq .m .m }}`, `{{ chunk 0 .l }}`,
		`{{ dig "s3" .s }}`, `{{ range $i := .s }}{{ end }}`,
	} {
		_, err := File("f", []byte(in), secret)
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "s3\"", ""), "s3cr3t") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestDocument(t *testing.T) {
	for sentence, test := range map[string]struct {
		in, want string
		strings  []string
	}{
		"no templates":                           {`{"a": 1, "b": ["x", null, true]}`, `{"a":1,"b":["x",null,true]}`, nil},
		"a text in a text":                       {`{"a": "x-${{ .vpc.id }}-y"}`, `{"a":"x-vpc-1-y"}`, []string{"x-vpc-1-y"}},
		"quotes and newlines stay in their text": {`{"a": "${{ .vpc.quoted }}", "b": 1}`, `{"a":"a \"b\"\nc \\ ${x}","b":1}`, []string{"a \"b\"\nc \\ ${x}"}},
		"a number becomes a text":                {`["${{ .Values.count }}"]`, `["12345678"]`, []string{"12345678"}},
		"a quote in the template":                {`["${{ index .vpc \"id\" }}"]`, `["vpc-1"]`, []string{"vpc-1"}},
		"a name":                                 {`{"${{ .vpc.id }}": 1}`, `{"vpc-1":1}`, []string{"vpc-1"}},
		"numbers keep their digits":              {`{"a": 123456789012345678901, "b": "${{ .vpc.id }}"}`, `{"a":123456789012345678901,"b":"vpc-1"}`, []string{"vpc-1"}},
		"a list alone stays one":                 {`{"a": "${{ .Values.list }}"}`, `{"a":["a","b"]}`, []string{"a", "b"}},
		"a map alone stays one":                  {`["${{- .Values.map -}}"]`, `[{"a":"2","z":"1"}]`, []string{"2", "1"}},
		"a list of a function's":                 {`["${{ splitList \"-\" .vpc.id }}", "${{ list 1 .Values.half }}"]`, `[["vpc","1"],[1,0.5]]`, []string{"vpc", "1", "1", "0.5"}},
		"a list in a text":                       {`["${{ .Values.list }}."]`, `["[a b]."]`, []string{"[a b]."}},
		"a list as text":                         {`["${{ toJson .Values.list }}"]`, `["[\"a\",\"b\"]"]`, []string{`["a","b"]`}},
		"one of two branches":                    {`["${{ if true }}${{ .Values.list }}${{ end }}"]`, `["[a b]"]`, []string{"[a b]"}},
		"a list as a name":                       {`{"${{ .Values.list }}": 1}`, `{"[a b]":1}`, []string{"[a b]"}},
		"marks of HCL and Helm stay":             {`["${x} {{ y }}"]`, `["${x} {{ y }}"]`, nil},
		"a change of the data stays in its text": {`["${{ $_ := set .vpc \"id\" \"x\" }}", "${{ .vpc.id }}"]`, `["","vpc-1"]`, []string{"", "vpc-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Document("spec.values", []byte(test.in), data())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.JSON)) + cmp.Diff(test.strings, got.Strings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDocumentSaysWhichField(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": {"b": ["${{ .vpc.nope }}"]}}`:           "spec.values.a.b[0]: .vpc.nope has no value",
		`{"a": "${{ .nope.id }}"}`:                     "spec.values.a: .nope.id has no value",
		`{"a": "${{ "}`:                                "spec.values.a: unclosed action",
		`{"${{ .vpc.id }}": 1, "vpc-1": 2}`:            `spec.values: the name "vpc-1" renders to one that exists already`,
		`{"a": "${{ if true }}", "b": "x${{ end }}y"}`: "spec.values.a: unexpected EOF",
	} {
		_, err := Document("spec.values", []byte(in), data())
		var found *Error
		if !errors.As(err, &found) || err.Error() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestHostileTemplatesEnd gives renderings that would take hours or all memory. Each must be
// refused by the budget, not by luck: the error says so.
func TestHostileTemplatesEnd(t *testing.T) {
	nested := strings.Repeat(`{{ range until 1000 }}`, 8) + strings.Repeat(`{{ end }}`, 8)
	doubling := `{{ $x := "aaaaaaaa" }}` + strings.Repeat(`{{ $x = print $x $x }}`, 60) + `{{ len $x }}`
	shared := `{{ $x := list 1 }}` + strings.Repeat(`{{ $x = list $x $x }}`, 60)
	for sentence, in := range map[string]string{
		"loops in loops":                nested,
		"a long list":                   `{{ until 1000000000 }}`,
		"a longer list":                 `{{ untilStep 0 4611686018427387904 1 | len }}`,
		"a sequence":                    `{{ seq 1 1 1000000000 }}`,
		"a text repeated":               `{{ repeat 1000000000 "x" }}`,
		"a text doubled":                doubling,
		"an indentation":                `{{ indent 1000000000 "x" }}`,
		"a replacement":                 `{{ $x := repeat 100000 "x" }}{{ replace "x" $x $x | len }}`,
		"a replacement by expressions":  `{{ $x := repeat 100000 "x" }}{{ regexReplaceAll "x" $x $x | len }}`,
		"an expression over and over":   `{{ $x := repeat 1000000 "x" }}{{ regexMatch (repeat 1000 "x?") $x }}`,
		"widths":                        `{{ printf "` + strings.Repeat("%999999d", 100) + `" 1 }}`,
		"a list that holds itself much": shared + `{{ toJson $x }}`,
		"written out":                   shared + `{{ $x }}`,
		"printed":                       shared + `{{ $y := print $x }}`,
		"compared":                      shared + `{{ $y := deepEqual $x $x }}`,
		"a template that calls itself":  `{{ define "x" }}{{ template "x" . }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		"a map in itself":               `{{ $m := dict }}{{ $_ := set $m "m" $m }}{{ toJson $m }}`,
		"too much text":                 `{{ range until 40 }}` + strings.Repeat("x", 100_000) + `{{ end }}`,
		"comparisons of long texts":     `{{ $x := repeat 1000000 "x" }}{{ $y := print $x }}{{ range until 1000 }}{{ if lt $x $y }}{{ end }}{{ end }}`,
		"comparisons in a pipe":         `{{ $x := repeat 1000000 "x" }}{{ range until 1000 }}{{ if ($x | eq "x") }}{{ end }}{{ end }}`,
		"an expression of many states":  `{{ regexMatch "((x{10}){10}){10}y" (repeat 50000 "x") }}`,
		"each with each":                `{{ uniq (until 100000) | len }}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := File("f", []byte(in), nil)
			if err == nil || !strings.Contains(err.Error(), "too much time or memory") && !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "nested too deeply") && !strings.Contains(err.Error(), "maximum template depth") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := File("f", []byte(strings.Repeat("x", maxSource+1)), nil); err == nil {
		t.Error("a template of any size is taken")
	}
}

// TestHonestTemplatesAreFarFromTheBudget renders what a large module would.
func TestHonestTemplatesAreFarFromTheBudget(t *testing.T) {
	in := `{{ range $i := until 2000 }}resource "aws_instance" "i{{ $i }}" {
  tags = { {{ range $k, $v := $.Values.map }}{{ $k | quote }} = {{ $v | upper | quote }}, {{ end }} }
}
{{ end }}`
	if out, err := File("f", []byte(in), data()); err != nil || strings.Count(string(out), "resource") != 2000 {
		t.Error(err)
	}
}

// TestNoFunctionIsUnpriced holds the functions against those that were looked through: a new
// version of sprig brings new ones only after somebody has.
func TestNoFunctionIsUnpriced(t *testing.T) {
	got := slices.Sorted(maps.Keys(newBudget().functions(maps.Keys(known()), nil)))
	if len(got) != knownFunctions {
		t.Errorf("there are %d functions, %d were looked through: does a new one need a price, or must it be absent?\n%s", len(got), knownFunctions, strings.Join(got, " "))
	}
	for name := range absent {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not a function any more", name)
		}
	}
	for name := range prices {
		if !slices.Contains(got, name) {
			t.Errorf("%s has a price and is not a function", name)
		}
	}
}

// knownFunctions: sprig 3.3.0's, those of text/template that write, and our three.
const knownFunctions = 220

func TestRenderingIsRepeatable(t *testing.T) {
	const in = `{{ .Values | toJson }}{{ keys .Values .vpc }}{{ .Values.map }}{{ merge (dict "x" 1) .vpc | toJson }}{{ omit .Values "on" }}`
	first, err := File("f", []byte(in), data())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := File("f", []byte(in), data()); err != nil || string(again) != string(first) {
			t.Fatalf("first %s, then %s, %v", first, again, err)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(`{"a": "${{ .vpc.id }}", "b": ["${{ range $i := until 3 }}${{ $i }}${{ end }}"]}`)
	f.Add(`["${{ define \"x\" }}${{ . }}${{ end }}${{ template \"x\" .vpc }}"]`)
	f.Add(`["${{ $x := list 1 }}${{ $x = list $x $x }}${{ toPrettyJson $x }}"]`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Document("spec.values", []byte(in), data())
		if err == nil && !json.Valid(got.JSON) {
			t.Errorf("%q gives %q", in, got.JSON)
		}
	})
}
