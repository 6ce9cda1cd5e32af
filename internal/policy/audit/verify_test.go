// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// chainOf has records with these changes.
func chainOf(t *testing.T, changes ...func(*Record)) Chain {
	t.Helper()
	c := Chain{Namespace: "prod", Stack: "vpc"}
	previous := ""
	for i, change := range changes {
		r := Record{Format: Format, Number: int64(i + 1), Previous: previous, Namespace: "prod", Stack: "vpc", At: time.Date(2026, 5, 4, 9, i, 0, 0, time.UTC), Kind: KindDecision}
		change(&r)
		e, err := Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		c.Items, previous = append(c.Items, e), e.Link()
	}
	return c
}

func says(verdict string) func(*Record) { return func(r *Record) { r.Verdict = verdict } }

func TestALogContinuesThatOfAnotherHome(t *testing.T) {
	old := chainOf(t, says("Held"), says("Approved"), says("Freed"))
	now := chainOf(t, func(r *Record) { r.Kind, r.Origin = KindMoved, &Origin{Server: "old", Head: old.Head()} }, says("Held"))
	if problems := now.Verify(old.Head()); len(problems) > 0 {
		t.Errorf("the last record of the other home: %v", problems)
	}
	if !now.Continues(&old) {
		t.Error("it does not continue the log of the other home")
	}
	cut := Chain{Namespace: "prod", Stack: "vpc", Items: old.Items[:2]}
	if now.Continues(&cut) {
		t.Error("it continues a log that was cut")
	}
	if problems := now.Verify(cut.Head()); len(problems) != 1 || !strings.Contains(problems[0].Message, "continues that of old, which ended with record 3 sha256:") {
		t.Errorf("a record before the last one: %v", problems)
	}
	changed := Chain{Namespace: "prod", Stack: "vpc", Items: append([]Entry{{Digest: old.Items[0].Digest, Record: []byte(`{"number":1}`)}}, old.Items[1:]...)}
	if now.Continues(&changed) {
		t.Error("it continues a log that was changed")
	}
	second, err := old.Items[1].Decode()
	if err != nil {
		t.Fatal(err)
	}
	if !now.Elsewhere(Head{second.Number, old.Items[1].Digest}) || now.Elsewhere(now.Head()) || now.Elsewhere(Head{Number: 4, Digest: "sha256:x"}) {
		t.Error("which records are those of the other home?")
	}
	if old.Elsewhere(Head{Number: 1, Digest: "sha256:x"}) {
		t.Error("a log without origin has all of its records")
	}
}

func TestOriginsFromOtherHomesAreChecked(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for origin, want := range map[Origin]bool{
		{Server: "a", Head: Head{1, digest}}:                              true,
		{Server: "a", Head: Head{0, digest}}:                              false,
		{Server: "a", Head: Head{1, digest + "0a"}}:                       false,
		{Server: "a", Head: Head{1, strings.Repeat("0a", 32)}}:            false,
		{Server: "a", Head: Head{1, "sha256:" + strings.Repeat("z", 64)}}: false,
		{Server: strings.Repeat("a", 257), Head: Head{1, digest}}:         false,
	} {
		if err := origin.Check(); (err == nil) != want {
			t.Errorf("%s: %v", fmt.Sprint(origin.Server, " ", origin.Head), err)
		}
	}
}
