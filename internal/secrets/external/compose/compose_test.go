// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
)

func bytesOf(pairs ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []byte(pairs[i+1])
	}
	return out
}

func show(data map[string][]byte) string {
	texts := map[string]string{}
	for key, value := range data {
		texts[key] = string(value)
	}
	return fmt.Sprint(texts)
}

func TestProperty(t *testing.T) {
	const value = `{"a":"text","n":5,"o":{"x":{"y":["p","q"]}},"a.b":"dotted","null":null,"t":true}`
	for property, want := range map[string]string{"a": "text", "n": "5", "o.x.y.1": "q", "o.x": `{"y":["p","q"]}`, "a.b": "dotted", "null": "", "t": "true"} {
		if got, err := Property([]byte(value), property); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", property, got, err)
		}
	}
	for _, property := range []string{"b", "o.z", "o.x.y.2", "o.x.y.-1", "a.c"} {
		if got, err := Property([]byte(value), property); err == nil {
			t.Errorf("%s: got %s", property, got)
		}
	}
	if _, err := Property([]byte("hunter2"), "a"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("not an object: %v", err)
	}
}

func TestDecode(t *testing.T) {
	for _, test := range []struct{ strategy, value, want string }{
		{"None", "aGk=", "aGk="}, {"", "aGk=", "aGk="}, {"Base64", "aGk=", "hi"}, {"Base64URL", "_-8", "\xff\xef"}, {"Auto", "aGk=", "hi"}, {"Auto", "no base64!", "no base64!"},
	} {
		if got, err := Decode(test.strategy, []byte(test.value)); err != nil || string(got) != test.want {
			t.Errorf("%s %s: got %q, %v", test.strategy, test.value, got, err)
		}
	}
	if _, err := Decode("Base64", []byte("hunter2!")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestKeys(t *testing.T) {
	got, err := Convert("Default", bytesOf("a/b c", "1", "ok", "2"))
	if err != nil || show(got) != "map[a_b_c:1 ok:2]" {
		t.Errorf("got %s, %v", show(got), err)
	}
	got, err = Convert("Unicode", bytesOf("a/b", "1"))
	if err != nil || show(got) != "map[a_U002f_b:1]" {
		t.Errorf("got %s, %v", show(got), err)
	}
	if _, err := Convert("Default", bytesOf("a/b", "1", "a b", "2")); err == nil || !strings.Contains(err.Error(), `both become "a_b"`) {
		t.Errorf("got %v", err)
	}
	if err := Check(bytesOf("a/b", "1")); err == nil {
		t.Error("a/b is accepted")
	}
}

func TestRewrite(t *testing.T) {
	data := bytesOf("app/db", `{"host":"a","port":1}`, "app/web", `{"host":"b"}`)
	for sentence, test := range map[string]struct {
		how         []externalv1.ExternalSecretRewrite
		want, wrong string
	}{
		"a regular expression, then a template": {[]externalv1.ExternalSecretRewrite{{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "^app/(.*)", Target: "$1"}},
			{Transform: &externalv1.ExternalSecretRewriteTransform{Template: "X_{{ .value | upper }}"}}}, `map[X_DB:{"host":"a","port":1} X_WEB:{"host":"b"}]`, ""},
		"a conflict": {[]externalv1.ExternalSecretRewrite{{Merge: &externalv1.ExternalSecretRewriteMerge{}}}, "", `several secrets have the attribute "host"`},
		"priority": {[]externalv1.ExternalSecretRewrite{{Merge: &externalv1.ExternalSecretRewriteMerge{ConflictPolicy: "Ignore", Priority: []string{"app/db"}}}},
			"map[host:a port:1]", ""},
		"into one": {[]externalv1.ExternalSecretRewrite{{Merge: &externalv1.ExternalSecretRewriteMerge{ConflictPolicy: "Ignore", Strategy: "JSON", Into: "all", Priority: []string{"none"}, PriorityPolicy: "IgnoreNotFound"}}},
			`map[all:{"host":"b","port":1} app/db:{"host":"a","port":1} app/web:{"host":"b"}]`, ""},
		"a missing priority":       {[]externalv1.ExternalSecretRewrite{{Merge: &externalv1.ExternalSecretRewriteMerge{ConflictPolicy: "Ignore", Priority: []string{"none"}}}}, "", `priority names "none"`},
		"not a regular expression": {[]externalv1.ExternalSecretRewrite{{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "("}}}, "", "not a regular expression"},
	} {
		got, err := Rewrite(NewLanguage(), test.how, data)
		if test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) || test.wrong == "" && (err != nil || show(got) != test.want) {
			t.Errorf("%s: got %s, %v", sentence, show(got), err)
		}
	}
}

// Operations are hostile: keys stay short, and templates share one budget.
func TestRewritingIsBounded(t *testing.T) {
	double := externalv1.ExternalSecretRewrite{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "(.+)", Target: "${1}${1}"}}
	costly := externalv1.ExternalSecretRewrite{Transform: &externalv1.ExternalSecretRewriteTransform{Template: `{{ range until 30000 }}{{ end }}{{ .value }}`}}
	repeat := func(o externalv1.ExternalSecretRewrite, n int) []externalv1.ExternalSecretRewrite {
		return slices.Repeat([]externalv1.ExternalSecretRewrite{o}, n)
	}
	long := strings.Repeat("x", 1000)
	for sentence, test := range map[string]struct {
		how   []externalv1.ExternalSecretRewrite
		key   string
		wrong string
	}{
		"doubled often":                  {repeat(double, 30), "a", "and may have 1024"},
		"too many":                       {repeat(double, 35), "a", "rewrite has 35 operations, and may have 32"},
		"a long target":                  {[]externalv1.ExternalSecretRewrite{{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "(.)", Target: strings.Repeat("$1", 600)}}}, "a", "target has 1200 bytes"},
		"a long key":                     {repeat(double, 1), strings.Repeat("x", 5000), "has 5000 bytes"},
		"a long path that becomes short": {[]externalv1.ExternalSecretRewrite{{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "x+/", Target: ""}}}, long + "/db", ""},
	} {
		got, err := Rewrite(NewLanguage(), test.how, bytesOf(test.key, "1"))
		if test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) || test.wrong == "" && (err != nil || show(got) != "map[db:1]") {
			t.Errorf("%s: got %d keys, %v", sentence, len(got), err)
		}
	}
	// The budget is that of the whole ExternalSecret.
	l, spent := NewLanguage(), false
	for range 10 {
		_, err := Rewrite(l, repeat(costly, 20), bytesOf("a", "1"))
		spent = spent || err != nil
	}
	if !spent {
		t.Error("200 templates are within the budget")
	}
}

// Names and properties are bounded: rewriting makes a long name of each short one, and each part of a property reads
// the value again.
func TestNamesAndPropertiesAreBounded(t *testing.T) {
	data := map[string][]byte{}
	for i := range 5000 {
		data[fmt.Sprintf("%04d", i)] = nil
	}
	rename := []externalv1.ExternalSecretRewrite{{Regexp: &externalv1.ExternalSecretRewriteRegexp{Source: "^", Target: strings.Repeat("n", 1000)}}}
	if _, err := Rewrite(NewLanguage(), rename, data); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes together") {
		t.Errorf("5000 names of 1004 bytes: %v", err)
	}
	nested := func(parts int) error {
		_, err := Property([]byte(strings.Repeat(`{"a":`, parts)+"1"+strings.Repeat("}", parts)), strings.TrimSuffix(strings.Repeat("a.", parts), "."))
		return err
	}
	if err := nested(64); err != nil {
		t.Error(err)
	}
	if err := nested(65); err == nil || !strings.Contains(err.Error(), "65 parts, and may have 64") {
		t.Errorf("65 parts: %v", err)
	}
}

// Templates are hostile: they end, and their errors have no value.
func TestTemplatesAreBoundedAndSilent(t *testing.T) {
	for sentence, text := range map[string]string{
		"too long":         `{{ range until 100000000 }}{{ $.password }}{{ end }}`,
		"a function":       `{{ env "HOME" }}`,
		"a missing key":    `{{ .passwort }}`,
		"fail":             `{{ fail .password }}`,
		"a value as types": `{{ index .password "hunter" }}`,
		"invalid":          `{{ .password `,
	} {
		_, err := Render(NewLanguage(), &externalv1.ExternalSecretTemplate{Data: map[string]string{"x": text}}, nil, bytesOf("password", "hunter2"))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "data.x") {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	literal := "a: {b: {{ .password }}}"
	_, err := Render(NewLanguage(), &externalv1.ExternalSecretTemplate{TemplateFrom: []externalv1.TemplateFrom{{Literal: &literal}}}, []Loaded{{}}, bytesOf("password", "hunter2"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("nested YAML: %v", err)
	}
}

func TestReplaceAndMerge(t *testing.T) {
	for policy, want := range map[string]string{"Replace": "map[url:x:hunter2]", "Merge": "map[password:hunter2 url:x:hunter2]"} {
		c, err := Render(NewLanguage(), &externalv1.ExternalSecretTemplate{MergePolicy: policy, Data: map[string]string{"url": "x:{{ .password }}"}}, nil, bytesOf("password", "hunter2"))
		if err != nil || show(c.Data) != want {
			t.Errorf("%s: %v, %v", policy, c, err)
		}
	}
}
