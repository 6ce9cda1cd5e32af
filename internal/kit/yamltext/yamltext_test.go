// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// every is all characters that there are, each between two letters.
func every() string {
	var text []rune
	for r := rune(0); r <= 0xffff; r++ {
		if utf8.ValidRune(r) {
			text = append(text, 'a', r, 'b')
		}
	}
	return string(append(text, 'a', 0x1f600, 0x10ffff, 'b'))
}

// Readers of YAML take JSON for what it says, in any character.
func TestEveryCharacterArrives(t *testing.T) {
	text := every()
	document, err := json.Marshal(map[string]string{"x": text, text[:9]: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(document, &map[string]string{}); err == nil {
		t.Error("as it is it can be read, and this package has no use")
	}
	for name, written := range map[string]func() ([]byte, error){
		"JSON": func() ([]byte, error) { return JSON(document), nil },
		"YAML": func() ([]byte, error) { return Marshal(map[string]string{"x": text, text[:9]: "y"}) },
	} {
		out, err := written()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got map[string]string
		if err := yaml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s cannot be read: %v", name, err)
		}
		want, have := []rune(text), []rune(got["x"])
		for i := range want {
			if i >= len(have) || want[i] != have[i] {
				t.Fatalf("%s: character %d is %q instead of %q", name, i, string(have[max(0, i-2):min(len(have), i+3)]), string(want[i]))
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("a\u007fb\u0085\u2028c")
	f.Fuzz(func(t *testing.T, text string) {
		document, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		if err := json.Unmarshal(document, &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(JSON(document), &got); err != nil || got[0] != want[0] {
			t.Fatalf("%q became %q: %v", want, got, err)
		}
	})
}
