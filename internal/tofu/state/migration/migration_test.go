// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// doc is a state with one resource for each name.
func doc(lineage string, serial int, names ...string) []byte {
	var resources []string
	for _, name := range names {
		resources = append(resources, fmt.Sprintf(`{"mode":"managed","type":"terraform_data","name":%q,"provider":"p","instances":[{"schema_version":0,"attributes":{"id":%q,"list":[2,1],"none":null}}]}`, name, name))
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":%q,"outputs":{},"resources":[%s]}`, serial, lineage, strings.Join(resources, ","))
}

func TestJudge(t *testing.T) {
	type want struct {
		verb Verb
		says string
	}
	for what, c := range map[string]struct {
		source, destination []byte
		want                want
	}{
		"nothing at the destination: copy":                                {doc("a", 3, "x"), nil, want{verb: Copy}},
		"only white space there: copy":                                    {doc("a", 3, "x"), []byte("\n"), want{verb: Copy}},
		"an empty state of a new workspace: replace it":                   {doc("a", 3, "x"), doc("b", 1), want{verb: Replace}},
		"the copy with the lineage that tofu invented: replace it":        {doc("a", 3, "x"), doc("b", 1, "x"), want{verb: Replace}},
		"another stack's state: refuse":                                   {doc("a", 3, "x"), doc("b", 1, "y"), want{says: "another lineage"}},
		"an older one of the same lineage: copy":                          {doc("a", 3, "x"), doc("a", 2, "y"), want{verb: Copy}},
		"the serial of the source, other content: refuse":                 {doc("a", 3, "x"), doc("a", 3, "y"), want{says: "two copies were changed"}},
		"a given-up migration, and the source went on: refuse":            {doc("a", 4, "x", "y"), doc("a", 4, "x"), want{says: "a migration that was given up, remove that copy"}},
		"a given-up migration, and the source went on twice: copy":        {doc("a", 5, "x", "y"), doc("a", 4, "x"), want{verb: Copy}},
		"emptied at the destination, with the serial of the source":       {doc("a", 3, "x"), doc("a", 3), want{says: "two copies were changed"}},
		"half a migration, with the serial of the source: copy":           {doc("a", 3, "x"), doc("a", 3, "x"), want{verb: Copy}},
		"a complete copy: keep":                                           {doc("a", 3, "x"), doc("a", 4, "x"), want{verb: Keep}},
		"a complete copy whose serial the tool raised once more: keep":    {doc("a", 3, "x"), doc("a", 5, "x"), want{verb: Keep}},
		"the same serial as the copy would have, other content: refuse":   {doc("a", 3, "x"), doc("a", 4, "y"), want{says: "two copies were changed"}},
		"somebody worked at the destination: refuse":                      {doc("a", 3, "x"), doc("a", 9, "y"), want{says: "newer state of the same lineage"}},
		"no state at either side: nothing":                                {nil, nil, want{verb: Nothing}},
		"an empty state at the source, and none at the destination":       {doc("a", 3), nil, want{verb: Nothing}},
		"none at the source, but one at the destination: refuse":          {nil, doc("b", 1, "x"), want{says: "--accept"}},
		"an encrypted source that the program does not decrypt: refuse":   {[]byte(`{"serial":1,"encrypted_data":"eA=="}`), nil, want{says: "do not decrypt"}},
		"an encrypted destination that it does not decrypt: refuse":       {doc("a", 1, "x"), []byte(`{"serial":1,"encrypted_data":"eA=="}`), want{says: "at the destination"}},
		"something at the destination that is not a state: refuse":        {doc("a", 1, "x"), []byte("<html>"), want{says: "not a state"}},
		"a state of an old format at the destination, which nobody knows": {doc("a", 1, "x"), []byte(`{"version":3,"serial":1}`), want{says: "format version 3"}},
	} {
		t.Run(what, func(t *testing.T) {
			verb, err := Judge(c.source, c.destination)
			if verb != c.want.verb || (err == nil) != (c.want.says == "") || err != nil && !strings.Contains(err.Error(), c.want.says) {
				t.Errorf("%q, %v; want %+v", verb, err, c.want)
			}
		})
	}
}

func TestARaisedStateProvesItself(t *testing.T) {
	source := doc("a", 41, "x", "y")
	next, err := Raise(source)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Prove(source, next)
	want := Proof{Resources: 2, Lineage: "a", Serial: 41, NewSerial: 42, Digest: got.Digest}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Digest == "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestEqualStates has what tools write differently, and TestOtherStates what they must not.
func TestEqualStates(t *testing.T) {
	one := `{"version":4,"terraform_version":"1.5.0","serial":1,"lineage":"a","outputs":{"o":{"value":12345678901234567890,"type":"number"}},"check_results":null,"resources":[
		{"mode":"managed","type":"t","name":"a","each":"list","provider":"p","instances":[{"index_key":0,"attributes":{"x":[]},"sensitive_attributes":[],"dependencies":["t.c","t.b"]},{"index_key":1,"attributes":{"x":null}}]},
		{"mode":"managed","type":"t","name":"b","provider":"p","instances":[]}]}`
	two := `{"version":4,"terraform_version":"1.12.6","serial":2,"lineage":"a","outputs":{"o":{"type":"number","value":12345678901234567890}},"check_results":[],"resources":[
		{"mode":"managed","type":"t","name":"b","provider":"p","instances":[]},
		{"mode":"managed","type":"t","name":"a","provider":"p","instances":[{"index_key":1,"attributes":{"x":null}},{"index_key":0,"attributes":{"x":[]},"dependencies":["t.b","t.c"]}]}]}`
	if _, err := Prove([]byte(one), []byte(two)); err != nil {
		t.Error(err)
	}
}

func TestOtherStates(t *testing.T) {
	source := `{"version":4,"serial":1,"lineage":"a","outputs":{"o":{"value":1,"type":"number"}},"resources":[{"mode":"managed","type":"t","name":"a","provider":"p","instances":[{"attributes":{"dependencies":["b","a"],"x":null,"n":12345678901234567890}}]}]}`
	for what, change := range map[string][2]string{
		"another attribute":                  {`"x":null`, `"x":1`},
		"an attribute without its null":      {`"x":null,`, ``},
		"an attribute's list in other order": {`["b","a"]`, `["a","b"]`},
		"another large number":               {`12345678901234567890`, `12345678901234567891`},
		"another output":                     {`"value":1`, `"value":2`},
		"a sensitive output":                 {`"type":"number"}`, `"type":"number","sensitive":true}`},
		"another lineage":                    {`"lineage":"a"`, `"lineage":"b"`},
		"another provider":                   {`"provider":"p"`, `"provider":"q"`},
		"a tainted instance":                 {`{"attributes"`, `{"status":"tainted","attributes"`},
	} {
		t.Run(what, func(t *testing.T) {
			copied := strings.Replace(strings.Replace(source, change[0], change[1], 1), `"serial":1`, `"serial":2`, 1)
			if _, err := Prove([]byte(source), []byte(copied)); err == nil {
				t.Error("the states count as equal")
			}
		})
	}
	if _, err := Prove([]byte(source), []byte(source)); err == nil {
		t.Error("a copy without a higher serial counts")
	}
	without := strings.Replace(source, `"outputs":{"o":{"value":1,"type":"number"}},`, "", 1)
	if _, err := Prove([]byte(without), []byte(strings.Replace(without, `"serial":1`, `"outputs":{},"serial":2`, 1))); err != nil {
		t.Errorf("no outputs, and an empty list of them: %v", err)
	}
	if _, err := Prove([]byte(source), nil); err == nil {
		t.Error("a missing copy counts")
	}
}

func TestAccept(t *testing.T) {
	var refused *RefusedError
	if _, err := Accept(nil); !errors.As(err, &refused) {
		t.Errorf("a missing state is accepted: %v", err)
	}
	if _, err := Accept(doc("", 0)); !errors.As(err, &refused) {
		t.Errorf("a state that the tool prints for none is accepted: %v", err)
	}
	if proof, err := Accept(doc("a", 7, "x")); err != nil || proof.NewSerial != 7 || proof.Resources != 1 {
		t.Errorf("%+v %v", proof, err)
	}
}

// FuzzJudge: whatever a backend answers, there is no panic, and a state of another lineage with
// resources is never replaced.
func FuzzJudge(f *testing.F) {
	f.Add(doc("a", 3, "x"), doc("b", 1, "y"))
	f.Add([]byte(`{"version":4,"resources":[{"instances":{}}],"outputs":{"a":null}}`), []byte(`{"version":4,"lineage":"x"}`))
	f.Fuzz(func(t *testing.T, source, destination []byte) {
		verb, err := Judge(source, destination)
		to, _ := parse(destination)
		from, _ := parse(source)
		if err == nil && (verb == Copy || verb == Replace) && to != nil && !to.empty() && to.lineage != from.lineage && to.digest != from.digest {
			t.Errorf("%s of another state", verb)
		}
		_, _ = Prove(source, destination)
		_, _ = Raise(source)
	})
}
