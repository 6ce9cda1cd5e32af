// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// sameAsOPA compares parseValue with OPA's own reader.
func sameAsOPA(t *testing.T, text []byte) {
	t.Helper()
	want, wantErr := ast.ValueFromReader(bytes.NewReader(text))
	got, err := parseValue(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%.100q: error %v, want %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if got.Compare(want) != 0 || got.Hash() != want.Hash() || got.String() != want.String() || got.IsGround() != want.IsGround() {
		t.Errorf("%.100q: %.200s, want %.200s", text, got, want)
	}
}

var texts = []string{
	`null`, `true`, `false`, ` 1 `, `-0`, `0`, `01`, `1.`, `.5`, `1.5e+3`, `1e`, `-`, `+1`, `1e999999999`, `12345678901234567890123`, `0.10`,
	`""`, `"a"`, `"a\"b\\"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"é"`, "\"\xff\"", "\"a\nb\"", `"a`, `"\x"`, `"` + strings.Repeat("long ", 30) + `"`,
	`[]`, `[ ]`, `[1,2 , 3]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `[1}`, `[[[[]]]]`, `{}`, `{ }`, `{"b":1,"a":[{}],"c":null}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":3}`,
	`{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`, `{"a":1 "b":2}`, `{1:2}`, ``, ` `, `{} {}`, `{}x`, `nul`, `truee`, strings.Repeat("[", 600) + strings.Repeat("]", 600),
}

func TestValuesAreThoseOfOPA(t *testing.T) {
	for _, text := range texts {
		sameAsOPA(t, []byte(text))
	}
}

// TestLargeArrays are read by several processors; a mistake in any part is found.
func TestLargeArrays(t *testing.T) {
	var elements []string
	for i := range 20_000 {
		elements = append(elements, fmt.Sprintf(`{"address":"a[\"%d,]\"]","type":"aws_instance","index":%d,"list":[%d,{"x":"}"}]}`, i, i, i%7))
	}
	text := `{"before":1,"changes":[` + strings.Join(elements, " ,\n") + `] , "after":[]}`
	if len(text) < 2*minParallel {
		t.Fatal("the text is too short for this test")
	}
	sameAsOPA(t, []byte(text))
	for _, wrong := range []string{`{"a":1,"a":2}`, `}`, `]`, `"`, `nul`, `,`, `1 2`, ``} {
		i := len(elements) / 2
		was := elements[i]
		elements[i] = wrong
		sameAsOPA(t, []byte(`[`+strings.Join(elements, ",")+`]`))
		elements[i] = was
	}
	sameAsOPA(t, []byte(text[:len(text)-20]))
	sameAsOPA(t, []byte(`[`+strings.Repeat(" ", minParallel)+`]`))
	sameAsOPA(t, []byte(`[`+strings.Repeat(" ", minParallel)+`,]`))
}

func FuzzParseValue(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(sameAsOPA)
}
