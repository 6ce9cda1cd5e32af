// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzParse compares the parser with encoding/json.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`null`, ` {"a":[1,-2.5e+3,true,false,null,"x\"\u00e9é"],"":{}} `, `[`, `{"a"}`, `{"a":1,}`, `[1,]`, `01`, `"\x"`, `tru`, `{"a":1}{`, "\"\x01\"", "\"\xff\"", `{"a":1,"a":2}`, `1e`, `--1`} {
		f.Add([]byte(text))
	}
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p parser
		got, err := p.decode(text)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var want any
		valid := json.Valid(text)
		if valid && decoder.Decode(&want) != nil {
			t.Skip()
		}
		if len(text) == 0 {
			return
		}
		if (err == nil) != valid || valid && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, %v; want %#v, valid %v", text, got, err, want, valid)
		}
	})
}
