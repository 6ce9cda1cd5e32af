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
	by := func(uid, write string) string { return ",uid=" + uid + ",write=" + write }
	mine, next := us+by("u", "w1"), us+by("u", "w2")
	lua := RRset{Name: "www.example.org", Type: "LUA", TTL: 30, Contents: []string{"A \"x\""}}
	registered := func(owner string) RRset {
		return RRset{Name: "_yuba.www.example.org", Type: "TXT", TTL: 300, Contents: []string{"\"" + owner + "\""}}
	}
	other := func(kind string) RRset {
		return RRset{Name: "www.example.org", Type: kind, TTL: 30, Contents: []string{"192.0.2.9"}}
	}
	changed := RRset{Name: lua.Name, Type: "LUA", TTL: 30, Contents: []string{"A \"y\""}}
	write, is := []RRset{lua, registered(next)}, []RRset{lua, registered(mine)}
	for name, test := range map[string]struct {
		there []RRset
		want  Decision
		gone  bool
		place string
		was   []string
		takes string
	}{
		"nothing is there: write it with its registration": {want: Decision{Changes: write}},
		"it is as wanted: nothing":                         {there: is},
		"its TTL was changed: write it again":              {there: []RRset{{Name: lua.Name, Type: "LUA", TTL: 60, Contents: lua.Contents}, registered(mine)}, want: Decision{Changes: write}},
		"somebody changed it: write it again":              {there: []RRset{changed, registered(mine)}, want: Decision{Changes: write}},
		"somebody deleted it: write it again":              {there: []RRset{registered(mine)}, want: Decision{Changes: write}},
		"records for mail are nobody's concern":            {there: append([]RRset{other("MX"), other("TXT")}, is...)},
		"another object has it":                            {there: []RRset{lua, registered(them)}, want: Decision{Taken: "belongs to heritage=yuba,owner=default,resource=failoverrecord/blog/www"}},
		"another server's object of the same name has it":  {there: []RRset{lua, registered(Owner("other", "shop", "www"))}, want: Decision{Taken: "owner=other"}},
		"a record of somebody without Yuba":                {there: []RRset{lua}, want: Decision{Taken: "type LUA that Yuba did not write"}},
		"an address beside ours would be mixed in":         {there: append([]RRset{other("A")}, is...), want: Decision{Taken: "type A that Yuba did not write (192.0.2.9)"}},
		"we had another id: take it over":                  {there: []RRset{lua, registered(Owner("old", "shop", "www") + by("u", "w1"))}, was: []string{us, Owner("old", "shop", "www")}, want: Decision{Changes: write}},
		"we had another id with an earlier version":        {there: []RRset{lua, registered(Owner("old", "shop", "www"))}, was: []string{us, Owner("old", "shop", "www")}, want: Decision{Changes: write}},
		"another's id that we never had":                   {there: []RRset{lua, registered(Owner("old", "shop", "www"))}, was: []string{us}, want: Decision{Taken: "owner=old"}},
		"it was written by another name of the server":     {there: is, place: "b", want: Decision{Changes: []RRset{lua, registered(next + ",place=b")}}},
		"it is as wanted at its place: nothing":            {there: []RRset{lua, registered(mine + ",place=b")}, place: "b"},
		"another object of the place has it":               {there: []RRset{lua, registered(them + ",place=b")}, place: "b", want: Decision{Taken: "failoverrecord/blog/www"}},
		"an earlier version wrote it: say whose it is":     {there: []RRset{lua, registered(us)}, want: Decision{Changes: write}},
		"it arrived with its last write: say so":           {there: []RRset{lua, registered(us + by("before", "w1"))}, want: Decision{Changes: write}},
		"a copy of another home has it":                    {there: []RRset{lua, registered(us + by("moved", "w9"))}, want: Decision{By: "w9", Taken: "the copy of this object with the UID moved"}},
		"a copy of a backup has changed it":                {there: []RRset{changed, registered(us + by("u", "w9"))}, want: Decision{By: "w9", Taken: "with the same UID"}},
		"a copy of a backup left it as wanted":             {there: []RRset{lua, registered(us + by("u", "w9"))}, want: Decision{Adopted: "w9"}},
		"another write is allowed to be replaced":          {there: []RRset{lua, registered(us + by("moved", "w8"))}, takes: "w9", want: Decision{By: "w8", Taken: "moved"}},
		"this one is":                       {there: []RRset{lua, registered(us + by("moved", "w9"))}, takes: "w9", want: Decision{Changes: write}},
		"not that of another object":        {there: []RRset{lua, registered(them + by("x", "w9"))}, takes: "w9", want: Decision{Taken: "failoverrecord/blog/www"}},
		"what is no write is in no command": {there: []RRset{lua, registered(us + by("x", "$(reboot)"))}, want: Decision{Taken: "belongs to heritage=yuba"}},
		"removal from a place": {there: []RRset{lua, registered(mine + ",place=b")}, place: "b", gone: true,
			want: Decision{Changes: []RRset{{Name: lua.Name, Type: "LUA"}, {Name: "_yuba.www.example.org", Type: "TXT"}}}},
		"removal from a place that is the present one by another name: it stays": {there: []RRset{lua, registered(mine + ",place=b")}, place: "a", gone: true},
		"removal":                          {there: is, gone: true, want: Decision{Changes: []RRset{{Name: lua.Name, Type: "LUA"}, {Name: "_yuba.www.example.org", Type: "TXT"}}}},
		"removal of what another has now":  {there: []RRset{lua, registered(them)}, gone: true},
		"removal of what a copy has now":   {there: []RRset{lua, registered(us + by("moved", "w9"))}, gone: true},
		"the same, of a backup":            {there: []RRset{lua, registered(us + by("u", "w9"))}, gone: true},
		"removal of what was not written":  {there: []RRset{lua}, gone: true},
		"removal after an earlier version": {there: []RRset{lua, registered(us)}, gone: true, want: Decision{Changes: []RRset{{Name: lua.Name, Type: "LUA"}, {Name: "_yuba.www.example.org", Type: "TXT"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Host: "www.example.org", Owner: us, Place: test.place, Former: test.was, TTL: 30, There: test.there,
				UID: "u", Write: "w2", Writes: []string{"w0", "w1"}, TakeOver: test.takes}
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
			if got.By != test.want.By || got.Adopted != test.want.Adopted {
				t.Errorf("by %q, adopted %q", got.By, got.Adopted)
			}
		})
	}
}

func TestLongOwnersAreReadAsWritten(t *testing.T) {
	owner := Owner("default", strings.Repeat("n", 63), strings.Repeat("a", 253))
	f := Facts{Host: "*.example.org", Owner: owner, UID: "u", Write: "w", TTL: 30, Wanted: []string{"A \"x\""}}
	d := Decide(f)
	if d.Changes[1].Name != "_yuba._any.example.org" {
		t.Errorf("the registration of a wildcard is %s", d.Changes[1].Name)
	}
	f.There, f.Writes = d.Changes, []string{"w"}
	if again := Decide(f); len(again.Changes) > 0 || again.Taken != "" {
		t.Errorf("what was written is not recognized: %+v", again)
	}
}

// Only a difference from what an earlier pass left is a repair. A registration of a former owner is not.
func TestRepairs(t *testing.T) {
	us := Owner("default", "shop", "www")
	lua := RRset{Name: "www.example.org", Type: "LUA", TTL: 30, Contents: []string{"A \"x\""}}
	registration := RRset{Name: "_yuba.www.example.org", Type: "TXT", TTL: 300, Contents: []string{"\"" + us + ",uid=u,write=w1\""}}
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
		"an earlier version":      {[]RRset{lua, {Name: registration.Name, Type: "TXT", TTL: 300, Contents: []string{"\"" + us + "\""}}}, true, nil},
		"it was written never so": {[]RRset{changed, registration}, false, nil},
		"it was never written":    {nil, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Decide(Facts{Host: lua.Name, Owner: us, UID: "u", Write: "w2", Writes: []string{"w1"}, TTL: 30, Wanted: lua.Contents, There: c.there, Kept: c.kept})
			if diff := cmp.Diff(c.want, d.Repaired); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The decision names the object's own write on the server, so that attempts without an answer never push it out of the known ones.
func TestTheWriteOnTheServerIsNamed(t *testing.T) {
	us := Owner("default", "shop", "www")
	of := func(write string) RRset {
		return RRset{Name: "_yuba.www.example.org", Type: "TXT", TTL: 300, Contents: []string{"\"" + us + ",uid=u,write=" + write + "\""}}
	}
	for sentence, c := range map[string]struct {
		there []RRset
		want  string
	}{
		"nothing is there":                         {nil, ""},
		"the last write":                           {[]RRset{of("w2")}, "w2"},
		"an earlier one":                           {[]RRset{of("w1")}, "w1"},
		"that of a copy which may be replaced":     {[]RRset{of("w9")}, ""},
		"that of a copy which may not be replaced": {[]RRset{of("w8")}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Decide(Facts{Host: "www.example.org", Owner: us, UID: "u", Write: "w3", Writes: []string{"w1", "w2"}, TakeOver: "w9", TTL: 30,
				Wanted: []string{"A \"x\""}, There: c.there})
			if d.Ours != c.want {
				t.Errorf("it is %q, want %q", d.Ours, c.want)
			}
		})
	}
}
