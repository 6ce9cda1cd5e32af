// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnOutlineIsThePlan(t *testing.T) {
	for _, file := range fixtures(t) {
		show, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Describe(show)
		if err != nil {
			t.Fatal(err)
		}
		document, err := WithStanding(d.Document, Standing{State: StatePending, ID: "p1", Run: "r"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Decode(document)
		if err != nil || want.Standing == nil || want.Standing.ID != "p1" {
			t.Fatal(err, want)
		}
		outline, err := DecodeOutline(document)
		if err != nil {
			t.Fatal(err)
		}
		got := outline.Plan
		for i := range got.Changes {
			if got.Changes[i], err = outline.Change(i); err != nil {
				t.Fatal(err)
			}
		}
		for i := range got.Drift {
			if got.Drift[i], err = outline.Drifted(i); err != nil {
				t.Fatal(err)
			}
		}
		a, errA := json.Marshal(want)
		b, errB := json.Marshal(got)
		if diff := cmp.Diff(string(a), string(b)); diff != "" || errA != nil || errB != nil {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestAStandingIsAddedToAnObjectOnly(t *testing.T) {
	for document, want := range map[string]string{
		"{}":                  `{"standing":{"state":"pending","run":"r"}}`,
		" {\"version\":1 }\n": `{"version":1,"standing":{"state":"pending","run":"r"}}`,
		"[]":                  "",
		"":                    "",
		"{":                   "",
	} {
		got, err := WithStanding([]byte(document), Standing{State: StatePending, Run: "r"})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s %v", document, got, err)
		}
	}
}
