// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package luatext_test

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/dns/luatext"
)

// evaluate returns the text that an expression is, and whether it touched anything else.
func evaluate(t interface{ Fatalf(string, ...any) }, expression string) string {
	state := lua.NewState()
	defer state.Close()
	touched := false
	state.SetGlobal("touch", state.NewFunction(func(*lua.LState) int { touched = true; return 0 }))
	if err := state.DoString("return " + expression); err != nil {
		t.Fatalf("%s is not an expression: %v", expression, err)
	}
	if state.GetTop() != 1 || touched {
		t.Fatalf("%s has %d values, and code was run: %t", expression, state.GetTop(), touched)
	}
	text, ok := state.Get(1).(lua.LString)
	if !ok {
		t.Fatalf("%s is not a text", expression)
	}
	return string(text)
}

// joined are the ways in which versions of PowerDNS join the strings of a record. They know no escapes,
// and end a string at each quote.
func joined(t interface{ Fatalf(string, ...any) }, content string) []string {
	content = strings.TrimPrefix(content, "A ")
	parts := strings.Split(content, "\"")
	if len(parts)%2 != 1 {
		t.Fatalf("a quote of %s is not closed", content)
	}
	var segments []string
	for i, part := range parts {
		if i%2 == 1 {
			segments = append(segments, part)
		} else if strings.TrimSpace(part) != "" || len(part) > 1 {
			t.Fatalf("%q is between strings of %s", part, content)
		}
	}
	for _, s := range segments {
		if len(s) > luatext.MaxSegment {
			t.Fatalf("a string has %d bytes", len(s))
		}
	}
	return []string{strings.Join(segments, ""), strings.Join(segments, " ")}
}

// hostile are texts that people and programs try.
var hostile = []string{"", "it's", "'..touch()..'", "\\', touch(), '", "]]..touch()--", "\" \"", "a\nb\r\x00c", "\\", "'", "\"", "\xff\xfe", "ü", "%s", "--", "';touch();'", strings.Repeat("'a\"", 200), strings.Repeat("x", 1000)}

func checkText(t interface{ Fatalf(string, ...any) }, text string) {
	code := luatext.Text(text)
	for _, program := range joined(t, code.Content("A")) {
		if got := evaluate(t, program); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	}
	if strings.ContainsAny(code.String(), "\"\\\n\x00") {
		t.Fatalf("%q has characters that PowerDNS reads otherwise: %s", text, code)
	}
}

func TestNoTextBecomesCode(t *testing.T) {
	for _, text := range hostile {
		checkText(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkText(t, string(rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "text")))
	})
}

func FuzzNoTextBecomesCode(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4000 {
			checkText(t, text)
		}
	})
}

func TestConstantsAreChecked(t *testing.T) {
	for _, constant := range []string{"", "\"", "a\\", "\n", strings.Repeat("a", 256)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", constant)
				}
			}()
			luatext.Word(constant)
		}()
	}
}
