// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statediff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func stateOf(serial int, outputs string, instances ...string) []byte {
	var resources []string
	for i, attributes := range instances {
		if attributes != "" {
			resources = append(resources, fmt.Sprintf(`{"mode":"managed","type":"x","name":"r%d","provider":"provider[\"p\"]","instances":[%s]}`, i, attributes))
		}
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l","outputs":{%s},"resources":[%s]}`, serial, outputs, strings.Join(resources, ","))
}

func text(v *View) string {
	var b strings.Builder
	for _, r := range append(v.Rows, v.Outputs...) {
		fmt.Fprintf(&b, "%s %s %s: %s\n", r.Sign, r.Name, r.Says, strings.Join(r.Parts, " "))
		for _, l := range r.Lines {
			fmt.Fprintf(&b, "  %s%s\n", l.Sign, l.Text)
		}
	}
	return b.String()
}

func TestOf(t *testing.T) {
	was := stateOf(1, `"url":{"value":"http://a","type":"string"},"key":{"value":"hunter2","type":"string","sensitive":true}`,
		`{"attributes":{"id":"i-0","size":1,"name":"<b>"}}`,
		`{"attributes":{"id":"i-1","password":"topsecret","copy":"x topsecret y"},"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}`,
		`{"attributes":{"id":"i-2"}}`, "", `{"attributes":{"id":"i-4"}}`)
	is := stateOf(2, `"url":{"value":"http://b","type":"string"},"key":{"value":"hunter3","type":"string","sensitive":true},"new":{"value":1,"type":"number"}`,
		`{"attributes":{"id":"i-0","size":2,"name":"<b>"}}`,
		`{"attributes":{"id":"i-1","password":"othersecret","copy":"x othersecret y"},"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}`,
		"", `{"attributes":{"id":"i-3\u202e"}}`, `{"attributes":{"id":"i-4"}}`)
	for values, want := range map[bool]string{
		false: `~ x.r0 differs: size
~ x.r1 differs: copy password
- x.r2 is not in the state any more (i-2): 
+ x.r3 is in the state (i-3\u202e): 
~ key differs: 
+ new is new: 
~ url differs: 
`,
		true: `~ x.r0 differs: size
   id   = "i-0"
   name = "<b>"
  ~size = 1 -> 2
~ x.r1 differs: copy password
  ~copy     = (sensitive value) -> (sensitive value)
   id       = "i-1"
  ~password = (sensitive value) -> (sensitive value)
- x.r2 is not in the state any more (i-2): 
+ x.r3 is in the state (i-3\u202e): 
~ key differs: 
  ~value = (sensitive value) -> (sensitive value)
+ new is new: 
~ url differs: 
  ~value = "http://a" -> "http://b"
`,
	} {
		v, err := Of(was, is, values)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, text(v)); diff != "" {
			t.Errorf("with values %v: %s", values, diff)
		}
		if v.Same != 1 || v.From != 1 || v.To != 2 {
			t.Errorf("%+v", v)
		}
	}
}

// The id of some resources is what another attribute, or another resource, marks as sensitive.
func TestAnIDThatIsASecretIsNotShown(t *testing.T) {
	is := stateOf(2, "", `{"attributes":{"id":"correcthorse"}}`, `{"attributes":{"id":"i-1","password":"correcthorse"},"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}`)
	for _, pair := range [][2][]byte{{stateOf(1, ""), is}, {is, stateOf(3, "")}} {
		v, err := Of(pair[0], pair[1], false)
		if err != nil || len(v.Rows) != 2 || strings.Contains(text(v), "correcthorse") || !strings.Contains(text(v), "i-1") {
			t.Errorf("%v: %s", err, text(v))
		}
	}
}

func TestWhatCannotBeComparedSaysWhy(t *testing.T) {
	plain := stateOf(1, "")
	encrypted := []byte(`{"version":4,"serial":1,"lineage":"l","meta":{},"encrypted_data":"x","encryption_version":"v0"}`)
	if _, err := Of(plain, encrypted, false); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Error(err)
	}
	if _, err := Of(plain, []byte("hunter2"), false); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestManyResourcesAreCut(t *testing.T) {
	var all []string
	for range maxRows + 7 {
		all = append(all, `{"attributes":{"id":"i"}}`)
	}
	v, err := Of(stateOf(1, ""), stateOf(2, "", all...), true)
	if err != nil || len(v.Rows) != maxRows || v.Hidden != 7 {
		t.Error(err, len(v.Rows), v.Hidden)
	}
}
