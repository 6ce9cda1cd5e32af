// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
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
			all, err := including(test.known, here)
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
