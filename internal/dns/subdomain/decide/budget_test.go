// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReservationsAreCountedByName(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	hour, day := ago(time.Hour), ago(Memory)
	b := Budget{Renewals: 2, Names: 2}
	for name, test := range map[string]struct {
		known []Reservation
		own   int32
		want  []Reservation
		no    *Refusal
	}{
		"the first one":                      {nil, 0, []Reservation{{"team", domain, "me", 0, now}}, nil},
		"the claim again":                    {[]Reservation{{"team", domain, "me", 1, hour}}, 2, []Reservation{{"team", domain, "me", 2, now}}, nil},
		"two processes count it once":        {[]Reservation{{"team", domain, "me", 1, hour}}, 1, []Reservation{{"team", domain, "me", 1, now}}, nil},
		"the claim, once too often":          {[]Reservation{{"team", domain, "me", 2, hour}}, 3, nil, &Refusal{true, 3, now.Add(23 * time.Hour)}},
		"a claim that is created anew":       {[]Reservation{{"team", domain, "it", 1, hour}}, 0, []Reservation{{"team", domain, "me", 2, now}}, nil},
		"created anew, once too often":       {[]Reservation{{"team", domain, "it", 2, hour}}, 0, nil, &Refusal{true, 3, now.Add(23 * time.Hour)}},
		"created anew, a day later":          {[]Reservation{{"team", domain, "it", 2, day}}, 0, []Reservation{{"team", domain, "me", 0, now}}, nil},
		"the name is of another namespace":   {[]Reservation{{"x", domain, "it", 2, hour}}, 0, []Reservation{{"x", domain, "it", 2, hour}, {"team", domain, "me", 0, now}}, nil},
		"a third name":                       {[]Reservation{{"team", "a", "", 0, hour}, {"team", "b", "", 0, ago(2 * time.Hour)}}, 0, nil, &Refusal{false, 2, now.Add(22 * time.Hour)}},
		"a third name, a day later":          {[]Reservation{{"team", "a", "", 0, hour}, {"team", "b", "", 0, day}}, 0, []Reservation{{"team", "a", "", 0, hour}, {"team", domain, "me", 0, now}}, nil},
		"a known name besides enough others": {[]Reservation{{"team", "a", "", 0, now}, {"team", "b", "", 0, now}, {"team", domain, "it", 0, now}}, 0, []Reservation{{"team", "a", "", 0, now}, {"team", "b", "", 0, now}, {"team", domain, "me", 1, now}}, nil},
	} {
		got, _, no := b.Reserve(now, test.known, Reservation{Namespace: "team", Domain: domain, Claim: "me", Renewals: test.own})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.no, no); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	known := []Reservation{{"team", domain, "me", 2, now}, {"x", domain, "it", 1, now}, {"team", "a", "", 0, day}}
	if left := Forget(now, known, "team", domain); len(left) != 1 || left[0].Namespace != "x" {
		t.Errorf("%+v", left)
	}
}

func TestAPoolRemembersTheNewest(t *testing.T) {
	var known []Reservation
	for i := range MaxReservations + 5 {
		known, _, _ = Budget{Renewals: 1}.Reserve(now, known, Reservation{Namespace: fmt.Sprint("team-", i), Domain: domain})
	}
	if len(known) != MaxReservations || known[0].Namespace != "team-5" {
		t.Errorf("%d are remembered, from %s", len(known), known[0].Namespace)
	}
}

// A namespace with many reservations makes no other one's count go.
func TestOnlyTheLargestNamespaceForgets(t *testing.T) {
	known := []Reservation{{"team", domain, "me", 2, now}}
	for i := range MaxReservations + 5 {
		known, _, _ = Budget{Renewals: 1}.Reserve(now, known, Reservation{Namespace: "many", Domain: fmt.Sprint("n", i)})
	}
	if len(known) != MaxReservations || known[0].Namespace != "team" || known[1].Domain != "n6" {
		t.Errorf("%d are remembered: %+v", len(known), known[:2])
	}
}
