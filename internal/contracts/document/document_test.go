// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/testkit/contracttest"
)

func set(t interface{ Fatal(...any) }, texts ...string) paths.Set {
	var list []paths.Path
	for _, text := range texts {
		p, err := paths.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return paths.Of(list...)
}

func canonical(t interface{ Fatal(...any) }, v cty.Value) string {
	text, err := document.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b": 1, "a": [ true, null ] }`:  `{"a":[true,null],"b":1}`,
		`"\u003ca\u0026\u2028\u0001\b\/"`:  "\"<a&\u2028\\u0001\\b/\"",
		`[1.50, -0, 1e3, 0.1, 1E-3]`:       `[1.5,0,1000,0.1,0.001]`,
		`12345678901234567890123`:          `12345678901234567890123`,
		"{\"\ue000\":1, \"\U0001f600\":2}": "{\"\U0001f600\":2,\"\ue000\":1}", // by code units, not by bytes
		`"e\u0301"`:                        `"é"`,
		`{"a":1,"ab":2,"":3}`:              `{"":3,"a":1,"ab":2}`,
	} {
		v, err := document.Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := canonical(t, v); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	sets := cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")})
	if got := canonical(t, sets); got != `["a","b"]` {
		t.Error(got)
	}
	if _, err := document.Canonical(cty.ObjectVal(map[string]cty.Value{"a": cty.DynamicVal})); err == nil {
		t.Error("an unknown value has a canonical form")
	}
	if got, _ := document.Digest(cty.EmptyObjectVal); got != "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
		t.Error(got)
	}
}

func TestProject(t *testing.T) {
	v, err := document.Parse([]byte(`{"vpc":"v","subnets":[{"id":"a","cidr":1},{"id":"b","cidr":2}],"tags":{"x":"1","y":"2"},"note":null}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		part paths.Set
		want string
	}{
		{paths.Set{}, `{}`},
		{set(t, "vpc", "note"), `{"note":null,"vpc":"v"}`},
		{set(t, "subnets[*].id"), `{"subnets":[{"id":"a"},{"id":"b"}]}`},
		{set(t, "subnets[1].id"), `{"subnets":[null,{"id":"b"}]}`},
		{set(t, "subnets[0]"), `{"subnets":[{"cidr":1,"id":"a"}]}`},
		{set(t, "subnets[9]"), `{"subnets":[null,null]}`},
		{set(t, "subnets[*].id", "subnets[0].cidr"), `{"subnets":[{"cidr":1,"id":"a"},{"id":"b"}]}`},
		{set(t, "tags[*]", "absent.x"), `{"tags":{"x":"1","y":"2"}}`},
		{set(t, "tags.y", "vpc.id"), `{"tags":{"y":"2"},"vpc":"v"}`},
		{set(t, "note.x"), `{"note":null}`},
	} {
		if diff := cmp.Diff(test.want, canonical(t, document.Project(v, test.part))); diff != "" {
			t.Errorf("%s: %s", test.part, diff)
		}
	}
}

func TestForeignDocuments(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 201) + strings.Repeat("]", 201): "nested more than 200 deep",
		"1e1000000000":                  "exponent beyond",
		"[1] [2]":                       "more than one JSON value",
		"{":                             "unexpected EOF",
		"1" + strings.Repeat("0", 1000): "more than 999 digits",
	} {
		if _, err := document.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
}

func TestLaws(t *testing.T) {
	t.Run("the canonical form of the canonical form is itself", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			text := canonical(t, contracttest.Delivered(t, contracttest.Type(t)))
			v, err := document.Parse([]byte(text))
			if err != nil || canonical(t, v) != text {
				t.Fatalf("%s: %#v, %v", text, v, err)
			}
		})
	})
	t.Run("a part changes if and only if something at its paths does", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			ty, variable := contracttest.Type(t), contracttest.Type(t)
			part := shape.Reads(ty, variable)
			before, after := contracttest.Delivered(t, ty), contracttest.Delivered(t, ty)
			same := canonical(t, document.Project(before, part)) == canonical(t, document.Project(after, part))
			if part.IsAll() && same != (canonical(t, before) == canonical(t, after)) {
				t.Fatalf("%#v, %#v: %v", before, after, same)
			}
			if part.IsEmpty() && ty.Kind() == shape.Object && !same {
				t.Fatalf("nothing is read, and changed: %#v, %#v", before, after)
			}
			digest, err := document.Digest(document.Project(before, part))
			if direct, failed := document.Part(before, part); err != nil || failed != nil || direct != digest {
				t.Fatalf("%s of %#v: %s, %s", part, before, direct, digest)
			}
			// To project twice is to project once.
			once := document.Project(before, part)
			if canonical(t, document.Project(once, part)) != canonical(t, once) {
				t.Fatalf("%#v", once)
			}
		})
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,null,"x"]}`, `1e5`, `"\ud800"`, `{"a":1,"a":2}`, `[[[`, `-0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := document.Parse(text)
		if err != nil {
			return
		}
		first := canonical(t, v)
		again, err := document.Parse([]byte(first))
		if err != nil || canonical(t, again) != first {
			t.Errorf("%q: %q, %v", text, first, err)
		}
	})
}

func FuzzPlanned(f *testing.F) {
	f.Add([]byte(`{"actions":["create"],"before":null,"after":{"m":{},"s":["a",null]},"after_unknown":{"m":{"a":true},"s":[false,true],"v":true},"after_sensitive":false}`))
	f.Add([]byte(`{"actions":["delete"]}`))
	f.Add([]byte(`{"after_unknown":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := document.Planned(text); err == nil && !o.Gone && o.Value == cty.NilVal {
			t.Errorf("%q: no value", text)
		}
	})
}
