// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/cel"
)

var values = map[string]any{
	"res": map[string]any{"metadata": map[string]any{"name": "app"}},
	"req": map[string]any{"a": "a", "tag": "v1.2.3", "commits": []any{map[string]any{"id": "1"}, map[string]any{"id": "2"}}},
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"true":                                            "true",
		"res.metadata.name == 'app'":                      "true",
		"req.tag.startsWith('v2')":                        "false",
		"req.commits.exists(c, c.id == '2')":              "true",
		"req.commits.map(c, c.id).join(',') == '1,2'":     "true",
		"req.tag.replace('v', '').split('.').size() == 3": "true",
		"'%s-%d'.format([req.tag, 1]) == 'v1.2.3-1'":      "true",
		"req.a.replace('a', 'b', 1) + 'c' == 'bc'":        "true",
		"req.missing == 'x'":                              "failed to evaluate the CEL expression",
		"'x'":                                             "output type mismatch",
		"unknown == 'x'":                                  "failed to parse",
		"req.a + ":                                        "failed to parse",
	} {
		got := evaluate(t, text)
		if got != want && (want == "true" || want == "false" || !strings.Contains(got, want)) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func evaluate(t *testing.T, text string) string {
	t.Helper()
	e, err := New(text, cel.BoolType, "res", "req")
	if err != nil {
		return err.Error()
	}
	ok, err := e.Bool(t.Context(), values)
	switch {
	case err != nil:
		return err.Error()
	case ok:
		return "true"
	}
	return "false"
}

func TestTexts(t *testing.T) {
	e, err := New("'status/' + res.metadata.name", cel.StringType, "res", "req")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Text(t.Context(), values); got != "status/app" || err != nil {
		t.Error(got, err)
	}
}

// Each of these would take gigabytes.
func TestWhatGrowsIsStopped(t *testing.T) {
	long := "'" + strings.Repeat("a", 100) + "'"
	replaced := "req.a" + strings.Repeat(".replace('a', "+long+")", 8)
	constant := "'a'" + strings.Repeat(".replace('a', "+long+")", 8)
	quoted, joined, formatted, doubled := "'\"'", "req.a", "req.a", "req.a"
	for range 40 {
		quoted = "strings.quote(" + quoted + ")"
	}
	for range 30 {
		joined = "[" + joined + "].map(x, [x, x].join(x))[0]"
		formatted = "[" + formatted + "].map(x, '%s%s'.format([x, x]))[0]"
		doubled = "[" + doubled + "].map(x, x + x + x)[0]"
	}
	split := "req.a" + strings.Repeat(".replace('a', "+long+")", 3) + ".split('').map(x, 'aaaaaaaaaaaaaaaaaaaaaa'.split('')).size()"
	for _, text := range []string{replaced, constant, quoted, joined, formatted, doubled} {
		if got := evaluate(t, text+".size() > 1"); !strings.Contains(got, errTooDear.Error()) {
			t.Errorf("%.100s: %.100s", text, got)
		}
	}
	if got := evaluate(t, split+" > 1"); !strings.Contains(got, errTooDear.Error()) {
		t.Errorf("%.100s: %.100s", split, got)
	}
}

// What one evaluation spends is not another one's.
func TestEvaluationsPayForThemselves(t *testing.T) {
	e, err := New("req.a.replace('a', '"+strings.Repeat("b", 10_000)+"').replace('b', '"+strings.Repeat("c", 1000)+"').size() == 10000000", cel.BoolType, "res", "req")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				if ok, err := e.Bool(t.Context(), values); !ok || err != nil {
					t.Error(ok, err)
				}
			}
		})
	}
	all.Wait()
}
