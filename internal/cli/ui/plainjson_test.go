// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestJSONIsWrittenForPeople(t *testing.T) {
	for value, want := range map[string]string{
		`"a -> b && c <d>"`: `"a -> b && c <d>"`, `"a -\u003e b \u0026\u0026 c \u003cd\u003e"`: `"a -> b && c <d>"`,
		`"\\u003e"`: `"\\u003e"`, `"\\\u003e"`: `"\\>"`, `"\u2028 \u00e9"`: `"\u2028 \u00e9"`, `"\u003"`: `"\u003"`, `\`: `\`, `1`: `1`,
	} {
		if got := string(unescapeHTML([]byte(value))); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
	got, err := PlainJSON(map[string]any{"o": json.RawMessage(`{"v":"x \u003e y"}`), "w": "<"})
	if want := "{\n  \"o\": {\n    \"v\": \"x > y\"\n  },\n  \"w\": \"<\"\n}\n"; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestPlainJSONMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune(`\u03ce<>&"x`+"\u2028\x00")))).Draw(t, "value")
		escaped, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var back []string
		if err := json.Unmarshal(unescapeHTML(escaped), &back); err != nil || len(value) > 0 && !reflect.DeepEqual(back, value) {
			t.Fatalf("%q became %q, %v", value, back, err)
		}
	})
}
