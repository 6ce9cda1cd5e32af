// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Find finds is what Parse and Resource do, in a state that tofu wrote.
func TestFindIsParseAndResource(t *testing.T) {
	module := newModule(t, "rich")
	module.Run("apply", "-auto-approve")
	data := module.State()
	file, err := Parse(data)
	if err != nil || len(file.Resources) < 5 {
		t.Fatalf("%+v, %v", file, err)
	}
	for _, r := range file.Resources {
		want, known := file.Resource(r.Address)
		got, ok, err := Find(data, r.Address)
		if err != nil || ok != known || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v %v\n%s", r.Address, ok, err, cmp.Diff(want, got))
		}
	}
}

// BenchmarkFind compares Find with Parse for one of many resources.
func BenchmarkFind(b *testing.B) {
	var others []string
	for i := range 100 {
		others = append(others, fmt.Sprintf(`{"mode":"managed","type":"x","name":"n%d","provider":"provider[\"registry.opentofu.org/a/x\"]","instances":[{"schema_version":0,"attributes":{"id":"id-%d","size":%d,"tags":{"Name":"n","team":"t"}},"dependencies":["x.n0"]}]}`, i, i, i))
	}
	data := []byte(`{"version":4,"serial":1,"lineage":"l","resources":[` + strings.Join(others, ",") + "]}")
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok, err := Find(data, "x.n99"); !ok || err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestFindInOtherDocuments(t *testing.T) {
	const of = `{"version":4,"serial":1,"lineage":"l","resources":[{"mode":"managed","type":"x","name":"odd","provider":"p","instances":"many"},
		{"mode":"managed","type":"x","name":"o","provider":"p","instances":[{"deposed":"1","attributes":{"a":1}},{"attributes":{"a":2}}]}]}`
	for address, want := range map[string]string{"x.o": `{"a":2}`, "x.none": "", "x.o[0]": "", "x.od": ""} {
		if got, ok, err := Find([]byte(of), address); err != nil || ok != (want != "") || string(got.Attributes) != want {
			t.Errorf("%s: %+v %v", address, got, err)
		}
	}
	if _, _, err := Find([]byte(of), "x.odd"); err == nil {
		t.Error("instances that are none were read")
	}
	if _, _, err := Find([]byte(`{"encryption_version":"v0","encrypted_data":"x"}`), "x.o"); !errors.Is(err, ErrEncrypted) {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"version":3}`, "[]"} {
		if _, ok, err := Find([]byte(text), "x.o"); ok || err == nil {
			t.Errorf("%q is a state", text)
		}
	}
}

func TestBelow(t *testing.T) {
	all := []Resource{{Address: "a.b"}, {Address: "a.bc"}, {Address: "a.b[0]"}, {Address: "module.m.a.b"}, {Address: "module.m[0].a.b"}, {Address: "module.mm.a.b"}}
	for addresses, want := range map[string]string{
		"": "a.b a.bc a.b[0] module.m.a.b module.m[0].a.b module.mm.a.b", "a.b": "a.b a.b[0]", "module.m": "module.m.a.b module.m[0].a.b",
		"a.bc module.mm": "a.bc module.mm.a.b", "none.none": "",
	} {
		var got []string
		for _, r := range Below(all, strings.Fields(addresses)) {
			got = append(got, r.Address)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", addresses, got, want)
		}
	}
}
