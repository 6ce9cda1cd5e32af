// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 500, time.UTC)

func definition(text string) *appv1.ApplicationDefinition {
	d := &appv1.ApplicationDefinition{Spec: appv1.ApplicationDefinitionSpec{Backend: &appv1.Backend{Type: appv1.BackendTerraform,
		Terraform: &appv1.TerraformBackend{Prefix: "bucket-", Inline: map[string]string{"main.tf": text}}}}}
	d.Name, d.Generation = "bucket", int64(len(text))
	return d
}

// noise is a text that cannot be compressed.
func noise(size int, seed string) string {
	var b strings.Builder
	for sum := sha256.Sum256([]byte(seed)); b.Len() < size; sum = sha256.Sum256(sum[:]) {
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:size]
}

func accept(t *testing.T, l Ledger, texts ...string) Ledger {
	t.Helper()
	for _, text := range texts {
		var whole bool
		if l, whole = l.Accept(definition(text), now); !whole {
			t.Fatalf("no room for the base beside %.20s", text)
		}
		l = again(l)
	}
	return l
}

// again writes a ledger and reads it.
func again(l Ledger) Ledger {
	annotations := map[string]string{}
	l.Write(annotations)
	return Read(annotations)
}

func numbers(l Ledger) (n []int64) {
	for _, r := range l.Revisions("bucket") {
		n = append(n, r.Number)
	}
	return n
}

func TestAChangeIsBroughtToAllAndUndone(t *testing.T) {
	first := accept(t, Ledger{}, "a")
	if !first.Complete() || first.Target != 1 || first.Previous() != 0 || !first.Has(definition("a")) {
		t.Errorf("the first revision: %+v", first.State)
	}
	second := accept(t, first, "b")
	if second.Base != 1 || second.Target != 2 || !second.Began.Equal(now.Truncate(time.Second)) || second.Previous() != 1 {
		t.Errorf("a change: %+v", second.State)
	}
	third, _ := second.Accept(definition("a"), now.Add(time.Hour))
	if third.Base != 1 || third.Target != 3 || !third.Began.Equal(second.Began) {
		t.Errorf("the change is undone before it is complete: %+v", third.State)
	}
	if same, _ := third.Accept(definition("a"), now); same.State != third.State {
		t.Errorf("nothing new: %+v", same.State)
	}
	done := again(third.Completed(now.Add(2 * time.Hour)))
	if !done.Complete() || done.Base != 3 || done.Previous() != 2 || !slices.Equal(numbers(done), []int64{1, 2, 3}) {
		t.Errorf("complete: %+v with %v", done.State, numbers(done))
	}
	for _, r := range done.Revisions("bucket") {
		if want := []string{"a", "b", "a"}[r.Number-1]; r.Definition.Spec.Backend.Terraform.Inline["main.tf"] != want || r.Definition.Name != "bucket" || r.Generation != 1 {
			t.Errorf("revision %d is %+v", r.Number, r.Definition.Spec.Backend.Terraform)
		}
	}
}

func TestWhatInstancesDoNotDependOnIsNoChange(t *testing.T) {
	l := accept(t, Ledger{}, "a")
	d := definition("a")
	d.Spec.Dashboard = &appv1.Dashboard{Icon: "x"}
	d.Spec.Rollout = &appv1.Rollout{Paused: true}
	d.Annotations = map[string]string{"other": "x"}
	if !l.Has(d) {
		t.Error("the dashboard makes a revision")
	}
	d.Annotations[appv1.AnnotationInstallTimeout] = "1h"
	if l.Has(d) {
		t.Error("a timeout of Helm makes no revision")
	}
}

func TestTheOldestGo(t *testing.T) {
	l := accept(t, Ledger{}, "0")
	for i := range 20 {
		l = accept(t, l.Completed(now), fmt.Sprint("next ", i))
	}
	if got := numbers(l); !slices.Equal(got, []int64{12, 13, 14, 15, 16, 17, 18, 19, 20, 21}) {
		t.Errorf("kept: %v", got)
	}
	// The base stays, however often the definition changes before the rollout is complete.
	for i := range 20 {
		l = accept(t, l, fmt.Sprint("more ", i))
	}
	if got := numbers(l); l.Base != 20 || !slices.Equal(got, []int64{20, 33, 34, 35, 36, 37, 38, 39, 40, 41}) {
		t.Errorf("kept with base %d: %v", l.Base, got)
	}
}

func TestRoom(t *testing.T) {
	const large = 100 << 10 // twice of it fits: noise has four bits for each character
	l := accept(t, Ledger{}, noise(large, "a"), noise(large, "b"))
	l = accept(t, l.Completed(now), noise(large, "c"), noise(large, "d"))
	annotations := map[string]string{}
	l.Write(annotations)
	size := 0
	for key, text := range annotations {
		size += len(key) + len(text)
	}
	if size > 256<<10 || l.Base != 2 || !slices.Contains(numbers(l), 2) {
		t.Errorf("%d bytes, base %d of %v", size, l.Base, numbers(l))
	}
	huge, whole := l.Accept(definition(noise(280<<10, "e")), now)
	if whole || !huge.Complete() || huge.Target != 5 {
		t.Errorf("without room for the base: %+v", huge.State)
	}
	gone, whole := huge.Accept(definition(noise(420<<10, "f")), now)
	if whole || gone.accepted != "" || !gone.Complete() {
		t.Errorf("without room for the target: %+v", gone.State)
	}
	for range 2 {
		if gone = again(gone); !gone.Has(definition(noise(420<<10, "f"))) || gone.Has(definition(noise(420<<10, "g"))) {
			t.Errorf("what was not kept is mistaken: %+v", gone.State)
		}
		if next, _ := gone.Accept(definition(noise(420<<10, "g")), now); next.Target != gone.Target+1 {
			t.Errorf("a change of what was not kept: %+v", next.State)
		}
	}
	// An older server kept no digest.
	gone.Digest = ""
	if gone.Has(definition(noise(420<<10, "f"))) {
		t.Error("it has what nobody kept")
	}
	if back, whole := again(gone).Accept(definition("small"), now); whole || !back.Complete() {
		t.Errorf("after a revision that was not kept: %+v", back.State)
	}
}

func TestKindsOfOlderServersAndDamage(t *testing.T) {
	older := map[string]string{appv1.AnnotationAccepted: Accepted(definition("a"))}
	if l := Read(older); l.Base != 1 || l.Target != 1 || !l.Has(definition("a")) {
		t.Errorf("a kind of an older server: %+v", l.State)
	}
	if l := accept(t, Read(older), "b"); l.Base != 1 || l.Target != 2 || len(l.Revisions("bucket")) != 2 {
		t.Errorf("its first change: %+v", l.State)
	}
	good := map[string]string{}
	accept(t, accept(t, Ledger{}, "a"), "b").Write(good)
	for name, damage := range map[string]string{"no JSON": "{", "a base after the target": `{"base":3,"target":2}`, "negative": `{"base":-1,"target":2}`} {
		bad := map[string]string{appv1.AnnotationAccepted: good[appv1.AnnotationAccepted], appv1.AnnotationRevisions: good[appv1.AnnotationRevisions], appv1.AnnotationRollout: damage}
		if l := Read(bad); !l.Complete() || l.Target != 1 {
			t.Errorf("%s: %+v", name, l.State)
		}
	}
	bad := map[string]string{appv1.AnnotationAccepted: "AAAA", appv1.AnnotationRevisions: "H4sI", appv1.AnnotationRollout: good[appv1.AnnotationRollout]}
	if l := Read(bad); len(l.Revisions("bucket")) != 0 || l.Base != 1 {
		t.Errorf("damaged revisions: %+v", l)
	}
	if l := Read(nil); l.Target != 0 || !l.Complete() {
		t.Errorf("nothing: %+v", l.State)
	}
}

// TestLaws plays changes and completions, with the ledger written and read in between.
func TestLaws(t *testing.T) {
	texts := []string{"a", "b", "c", "d", "e", "f", "g", noise(180<<10, "h"), noise(220<<10, "i")}
	rapid.Check(t, func(t *rapid.T) {
		l, last := Ledger{}, int64(0)
		for range rapid.IntRange(1, 7).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "complete") {
				l = l.Completed(now)
			} else {
				l, _ = l.Accept(definition(rapid.SampledFrom(texts).Draw(t, "text")), now)
			}
			l = again(l)
			list := numbers(l)
			switch {
			case l.Target < last:
				t.Fatalf("the target goes back from %d to %d", last, l.Target)
			case len(list) > Kept || len(l.accepted)+len(l.earlier) > maxAnnotations:
				t.Fatalf("%d revisions with %d bytes", len(list), len(l.accepted)+len(l.earlier))
			case l.Target > 0 && !slices.Contains(list, l.Base):
				t.Fatalf("the base %d is not among %v", l.Base, list)
			}
			last = l.Target
		}
	})
}

// TestSize is the sum in doc.go.
func TestSize(t *testing.T) {
	l, text := Ledger{}, noise(3<<10, "schema")+strings.Repeat("some words of a description of a field; ", 700)
	for i := range Kept {
		l, _ = l.Accept(definition(text+fmt.Sprint(i)), now)
		l = l.Completed(now)
	}
	if size := len(l.accepted) + len(l.earlier); size > 20<<10 || len(numbers(l)) != Kept {
		t.Errorf("%d revisions take %d bytes", len(numbers(l)), size)
	}
}
