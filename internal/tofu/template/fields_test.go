// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                                      "",
		"{{ .uid }}-{{ .net.id }}":                                   "uid! net.id!",
		"{{ .a | default .b }}{{ upper .c }}":                        "a:default b:default c:upper",
		"{{ (fromJson .a).b }}{{ $.c }}":                             "a+ c!",
		"{{ whole (print .a) }}":                                     "a:whole",
		"{{ if .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}":             "a b+ c+",
		"{{ range .a }}{{ .b }}{{ $.c }}{{ else }}{{ .d }}{{ end }}": "a+ c+ d+",
		"{{ with $x := .a }}{{ .b }}{{ $x.y }}{{ end }}":             "a+",
		"{{ $x := .a }}{{ $x }}{{ whole .n }}":                       "a+ n:whole",
		`{{ template "t" .a }}{{ define "t" }}{{ .b }}{{ end }}`:     "a+",
		"{{ .a": "", "{{ nope .a }}": "",
	} {
		var got []string
		for _, field := range dialect().Fields(in) {
			name := strings.Join(field.Path, ".")
			switch {
			case field.Needed:
				name += "!"
			case field.By != "":
				name += ":" + field.By
			case field.Written:
				name += "+"
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s asks for %q, want %q", in, text, want)
		}
	}
	if diff := cmp.Diff([]string{"x", "y", "b"}, dialect().Names(map[string]any{"{{ .x }}": "{{ .b }}", "a": []any{"{{ .x.y }}", 3}, "c": "{{ .y }}"})); diff != "" {
		t.Error(diff)
	}
	if found := DocumentFields([]byte(`{"a": ["${{ .net.id }}", "{{ .other }}"]}`)); len(found) != 1 || found[0].Path[1] != "id" {
		t.Errorf("a document asks for %v", found)
	}
	if found := DocumentFields([]byte(`{"a": "${{ .x }`)); found != nil {
		t.Errorf("what is no JSON asks for %v", found)
	}
}
