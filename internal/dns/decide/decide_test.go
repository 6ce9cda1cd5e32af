// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecide(t *testing.T) {
	us, them := Owner("default", "shop", "www"), Owner("default", "blog", "www")
	lua := RRset{Name: "www.example.org", Type: "LUA", TTL: 30, Contents: []string{"A \"x\""}}
	registered := func(owner string) RRset {
		return RRset{Name: "_yuba.www.example.org", Type: "TXT", TTL: 300, Contents: []string{"\"" + owner + "\""}}
	}
	other := func(kind string) RRset {
		return RRset{Name: "www.example.org", Type: kind, TTL: 30, Contents: []string{"192.0.2.9"}}
	}
	write := []RRset{lua, registered(us)}
	for name, test := range map[string]struct {
		there []RRset
		want  Decision
		gone  bool
		place string
		was   []string
	}{
		"nothing is there: write it with its registration": {want: Decision{Changes: write}},
		"it is as wanted: nothing":                         {there: write},
		"its TTL was changed: write it again":              {there: []RRset{{Name: lua.Name, Type: "LUA", TTL: 60, Contents: lua.Contents}, registered(us)}, want: Decision{Changes: write}},
		"somebody changed it: write it again":              {there: []RRset{{Name: lua.Name, Type: "LUA", TTL: 30, Contents: []string{"A \"y\""}}, registered(us)}, want: Decision{Changes: write}},
		"somebody deleted it: write it again":              {there: []RRset{registered(us)}, want: Decision{Changes: write}},
		"records for mail are nobody's concern":            {there: append([]RRset{other("MX"), other("TXT")}, write...)},
		"another object has it":                            {there: []RRset{lua, registered(them)}, want: Decision{Taken: "belongs to heritage=yuba,owner=default,resource=failoverrecord/blog/www"}},
		"another server's object of the same name has it":  {there: []RRset{lua, registered(Owner("other", "shop", "www"))}, want: Decision{Taken: "owner=other"}},
		"a record of somebody without Yuba":                {there: []RRset{lua}, want: Decision{Taken: "type LUA that Yuba did not write"}},
		"an address beside ours would be mixed in":         {there: append([]RRset{other("A")}, write...), want: Decision{Taken: "type A that Yuba did not write (192.0.2.9)"}},
		"we had another id: take it over":                  {there: []RRset{lua, registered(Owner("old", "shop", "www"))}, was: []string{us, Owner("old", "shop", "www")}, want: Decision{Changes: write}},
		"another's id that we never had":                   {there: []RRset{lua, registered(Owner("old", "shop", "www"))}, was: []string{us}, want: Decision{Taken: "owner=old"}},
		"it was written by another name of the server":     {there: write, place: "b", want: Decision{Changes: []RRset{lua, registered(us + ",place=b")}}},
		"it is as wanted at its place: nothing":            {there: []RRset{lua, registered(us + ",place=b")}, place: "b"},
		"another object of the place has it":               {there: []RRset{lua, registered(them + ",place=b")}, place: "b", want: Decision{Taken: "failoverrecord/blog/www"}},
		"removal from a place": {there: []RRset{lua, registered(us + ",place=b")}, place: "b", gone: true,
			want: Decision{Changes: []RRset{{Name: lua.Name, Type: "LUA"}, {Name: "_yuba.www.example.org", Type: "TXT"}}}},
		"removal from a place that is the present one by another name: it stays": {there: []RRset{lua, registered(us + ",place=b")}, place: "a", gone: true},
		"removal": {there: write, gone: true, want: Decision{Changes: []RRset{{Name: lua.Name, Type: "LUA"}, {Name: "_yuba.www.example.org", Type: "TXT"}}}},
		"removal of what another has now: it stays":               {there: []RRset{lua, registered(them)}, gone: true},
		"removal of what is gone, or was never registered: stays": {there: []RRset{lua}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Host: "www.example.org", Owner: us, Place: test.place, Former: test.was, TTL: 30, There: test.there}
			if !test.gone {
				f.Wanted = lua.Contents
			}
			got := Decide(f)
			if diff := cmp.Diff(test.want.Changes, got.Changes); diff != "" {
				t.Error(diff)
			}
			if (test.want.Taken == "") != (got.Taken == "") || !strings.Contains(got.Taken, test.want.Taken) {
				t.Errorf("taken: %q, want %q", got.Taken, test.want.Taken)
			}
		})
	}
}

func TestLongOwnersAreReadAsWritten(t *testing.T) {
	owner := Owner("default", strings.Repeat("n", 63), strings.Repeat("a", 253))
	f := Facts{Host: "*.example.org", Owner: owner, TTL: 30, Wanted: []string{"A \"x\""}}
	d := Decide(f)
	if d.Changes[1].Name != "_yuba._any.example.org" {
		t.Errorf("the registration of a wildcard is %s", d.Changes[1].Name)
	}
	f.There = d.Changes
	if again := Decide(f); len(again.Changes) > 0 || again.Taken != "" {
		t.Errorf("what was written is not recognized: %+v", again)
	}
}

// Only a difference from what an earlier pass left is a repair. A registration of a former owner is not.
func TestRepairs(t *testing.T) {
	us := Owner("default", "shop", "www")
	lua := RRset{Name: "www.example.org", Type: "LUA", TTL: 30, Contents: []string{"A \"x\""}}
	registration := RRset{Name: "_yuba.www.example.org", Type: "TXT", TTL: 300, Contents: []string{"\"" + us + "\""}}
	changed := RRset{Name: lua.Name, Type: "LUA", TTL: 60, Contents: []string{"A \"y\""}}
	for sentence, c := range map[string]struct {
		there []RRset
		kept  bool
		want  []string
	}{
		"another content":         {[]RRset{changed, registration}, true, []string{"www.example.org LUA was A \"y\" with TTL 60"}},
		"the record is missing":   {[]RRset{registration}, true, []string{"www.example.org LUA was missing"}},
		"everything is missing":   {nil, true, []string{"www.example.org LUA was missing", "_yuba.www.example.org TXT was missing"}},
		"it is as it was":         {[]RRset{lua, registration}, true, nil},
		"it was written never so": {[]RRset{changed, registration}, false, nil},
		"it was never written":    {nil, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Decide(Facts{Host: lua.Name, Owner: us, TTL: 30, Wanted: lua.Contents, There: c.there, Kept: c.kept})
			if diff := cmp.Diff(c.want, d.Repaired); diff != "" {
				t.Error(diff)
			}
		})
	}
}
