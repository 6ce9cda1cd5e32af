// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
)

func TestReads(t *testing.T) {
	for text, want := range map[string]string{
		"true":                                               "",
		"self == 1":                                          "[]",
		"self.a.b == self.c":                                 "[a b] [c]",
		"has(self.a.b) && self['x y'][0] == 1":               "[a b] [x y 0]",
		"self.list.all(x, x.id != self.other)":               "[list] [other]",
		"[1].all(self, self.a == 1)":                         "",
		"self.list.all(self, self.a == 1)":                   "[list]",
		"self[self.key] == 1":                                "[] [key]",
		"self.a.size() > 0 && {'k': self.b} == 1":            "[a] [b]",
		"self.?a.orValue('') == '' || self[?'b'].hasValue()": "[a] [b]",
		"self.a.map(x, self.b)[0].c == 1":                    "[a] [b]",
	} {
		e, err := NewOfAny(text, cel.BoolType, "self")
		if err != nil {
			// Types that are known to differ; the reads are the same.
			if e, err = Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, access := range e.Reads("self") {
			got = append(got, fmt.Sprint([]any(access)))
		}
		slices.Sort(got)
		if text2 := strings.Join(slices.Compact(got), " "); text2 != want {
			t.Errorf("%s: %s, want %s", text, text2, want)
		}
	}
}

func TestOfAny(t *testing.T) {
	e, err := NewOfAny("self.all(x, x > 0)", cel.BoolType, "self")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := e.Bool(t.Context(), map[string]any{"self": []any{int64(1), 2.5}}); !ok || err != nil {
		t.Error(ok, err)
	}
}
