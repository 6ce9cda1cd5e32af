// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
)

func TestPlaces(t *testing.T) {
	at := func(url, zone, owner string) yubav1.FailoverPlace {
		return yubav1.FailoverPlace{URL: url, Secret: "pdns", Zone: zone, OwnerID: owner}
	}
	here := at("http://a:8081", "example.org", "default")
	other, zone, owner := at("http://b:8081", "example.org", "default"), at("http://a:8081", "sub.example.org", "default"), at("http://a:8081", "example.org", "old")
	renamed := here
	renamed.Secret = "former"
	type places = []yubav1.FailoverPlace
	for name, test := range map[string]struct {
		known, all, former places
		fails              bool
	}{
		"the first":                             {all: places{here}},
		"as before":                             {known: places{here}, all: places{here}},
		"the URL is written in another way":     {known: places{at("http://a:8081/api/v1/", "example.org", "default")}, all: places{here}},
		"another Secret":                        {known: places{renamed}, all: places{here}},
		"another server":                        {known: places{other}, all: places{here, other}, former: places{other}},
		"another zone":                          {known: places{zone}, all: places{here, zone}, former: places{zone}},
		"another owner: the registration stays": {known: places{owner}, all: places{here, owner}},
		"back again":                            {known: places{other, here}, all: places{here, other}, former: places{other}},
		"all at once":                           {known: places{other, zone, owner}, all: places{here, other, zone, owner}, former: places{other, zone}},
		"too many": {known: places{other, zone, owner, at("http://c", "example.org", "default")}, fails: true,
			all: places{other, zone, owner, at("http://c", "example.org", "default")}, former: places{other, zone, at("http://c", "example.org", "default")}},
	} {
		t.Run(name, func(t *testing.T) {
			all, _, err := including(&yubav1.FailoverRecordStatus{Places: test.known}, here)
			if diff := cmp.Diff(test.all, all); diff != "" || (err != nil) != test.fails {
				t.Error(err, diff)
			}
			if diff := cmp.Diff(test.former, former(all, here)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if markOf(here) == markOf(other) || markOf(here) != markOf(at("http://a:8081/api/v1", "sub.example.org", "old")) {
		t.Error("the mark is not that of the server")
	}
}

// A former place keeps the writes of its time, however often the object writes elsewhere, and gives them back when it is the present
// one again.
func TestAFormerPlaceKeepsItsWrites(t *testing.T) {
	a := yubav1.FailoverPlace{URL: "http://a:8081", Secret: "pdns", Zone: "example.org", OwnerID: "default"}
	b := a
	b.URL = "http://b:8081"
	is := yubav1.FailoverRecordStatus{Places: []yubav1.FailoverPlace{a}, Writes: []string{"a1", "a2"}}
	moveTo := func(here yubav1.FailoverPlace) {
		t.Helper()
		var err error
		if is.Places, is.Writes, err = including(&is, here); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		moveTo(b)
		is.Writes = remembering(is.Writes, fmt.Sprintf("b%d", n))
	}
	if slices.Contains(is.Writes, "a1") {
		t.Fatal("the status still has the writes by itself, and the test proves nothing")
	}
	if all := writesAt(&is, is.Places[1]); !slices.Contains(all, "a1") || !slices.Contains(all, "a2") {
		t.Errorf("the writes at the former place are forgotten: %v", all)
	}
	if all := writesAt(&is, b); slices.Contains(all, "a1") {
		t.Errorf("the present place has writes of another: %v", all)
	}
	moveTo(a)
	if len(is.Writes) > maxWrites || !slices.Contains(is.Writes, "a1") || !slices.Contains(is.Writes, "a2") || len(is.Places[0].Writes) > 0 {
		t.Errorf("back again: %v at %+v", is.Writes, is.Places[0])
	}
	if all := writesAt(&is, is.Places[1]); is.Places[1].URL != b.URL || !slices.Contains(all, "b19") {
		t.Errorf("the writes at the other place are forgotten: %v", all)
	}
}

func TestErrorsOfAServerLeaveOpenWhatIsWritten(t *testing.T) {
	for status, want := range map[int]bool{400: false, 401: false, 404: false, 422: false, 500: true, 502: true, 503: true, 504: true} {
		if is := unclear(&powerdns.RefusedError{Status: status}); is != want {
			t.Errorf("%d: %t", status, is)
		}
	}
}
