// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestJudge(t *testing.T) {
	program := Program{Generation: 3, Revision: "main@sha1:one"}
	stack := func(change ...func(*Stack)) []Stack {
		s := Stack{Key: state.Key{Namespace: "prod", Stack: "db"}, Program: program}
		for _, c := range change {
			c(&s)
		}
		return []Stack{s}
	}
	previewed := func(p Preview) map[string]Preview {
		if p.Program == (Program{}) {
			p.Program = program
		}
		return map[string]Preview{"db": p}
	}
	suspended := func(s *Stack) { s.Suspended = true }
	for sentence, c := range map[string]struct {
		stacks   []Stack
		previews map[string]Preview
		accepted map[string]string
		want     string // empty: it may be applied
	}{
		"nothing was previewed":                              {stack(), nil, nil, "was not previewed"},
		"the preview changes nothing":                        {stack(), previewed(Preview{Digest: "d"}), nil, ""},
		"the preview that was accepted is the last one":      {stack(), previewed(Preview{Digest: "d", Changes: true}), map[string]string{"db": "d"}, ""},
		"changes that nobody accepted":                       {stack(), previewed(Preview{Digest: "d", Changes: true}), nil, "does not accept"},
		"another preview than the one that was accepted":     {stack(), previewed(Preview{Digest: "e"}), map[string]string{"db": "d"}, "later preview"},
		"the plan failed":                                    {stack(), previewed(Preview{Error: "no such provider"}), map[string]string{"db": ""}, "no such provider"},
		"the program changed while it was planned":           {stack(), previewed(Preview{Program: Program{Generation: 2}}), nil, "another specification"},
		"a directory was planned, and the stack runs":        {stack(), previewed(Preview{Elsewhere: true}), nil, "is not suspended"},
		"a directory was planned, and the stack waits":       {stack(suspended), previewed(Preview{Elsewhere: true}), nil, ""},
		"one of two members was previewed":                   {append(stack(), Stack{Key: state.Key{Namespace: "prod", Stack: "net"}}), previewed(Preview{}), nil, "prod/net was not previewed"},
		"a preview of a stack that is not a member any more": {stack(), map[string]Preview{"db": {Program: program}, "gone": {Error: "x"}}, nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &Record{ID: "refactor-1", Namespace: "prod"}
			err := r.Judge(c.stacks, c.previews, c.accepted)
			var refusal *RefusedError
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestAPreviewIsOfOneProposal: the same steps, proposed again, were not previewed.
func TestAPreviewIsOfOneProposal(t *testing.T) {
	w := newWorld(t)
	first, second := w.propose(), w.propose()
	if err := w.desk.Note(t.Context(), w.namespace, first.ID, "a", Preview{Run: "run-1", Digest: "d"}); err != nil {
		t.Fatal(err)
	}
	if err := w.desk.Note(t.Context(), w.namespace, first.ID, "stranger", Preview{}); err != nil {
		t.Fatal(err)
	}
	got, err := w.desk.Previews(t.Context(), first)
	if err != nil || len(got) != 1 || got["a"].Run != "run-1" || got["a"].At.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.desk.Previews(t.Context(), second); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, first.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := w.desk.Note(t.Context(), w.namespace, first.ID, "b", Preview{}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.desk.Previews(t.Context(), first); err != nil || len(got) != 1 {
		t.Errorf("after the refactoring was applied: %+v, %v", got, err)
	}
}

// TestTooManyProposals: each keeps states, so that a loop could fill the disk.
func TestTooManyProposals(t *testing.T) {
	w := newWorld(t)
	var proposals []string
	for range maxProposals {
		proposals = append(proposals, w.propose().ID)
	}
	_, err := w.desk.Propose(t.Context(), w.namespace, "ann", w.stacks("a"), nil)
	var refusal *RefusedError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), fmt.Sprintf("has %d refactorings", maxProposals)) {
		t.Fatalf("one more: %v", err)
	}
	// The oldest one is being previewed, so the second one goes, and no other.
	later := time.Now().Add(proposalRest + time.Minute)
	w.desk.Now = func() time.Time { return later }
	if err := w.desk.Note(t.Context(), w.namespace, proposals[0], "a", Preview{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	left := append(slices.Delete(slices.Clone(proposals), 1, 2), w.propose().ID)
	list, _, err := w.desk.List(t.Context(), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	var are []string
	for _, r := range slices.Backward(list) {
		are = append(are, r.ID)
	}
	if !slices.Equal(are, left) {
		t.Errorf("left are\n%v, want\n%v", are, left)
	}
	for info, err := range w.blobs.List(t.Context(), prefix+w.namespace+"/"+proposals[1]+"/") {
		t.Errorf("%s is left, %v", info.Key, err)
	}
}

// A preview that ends after its proposal was deleted leaves nothing.
func TestAPreviewOfADeletedProposalLeavesNothing(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	w.desk.broken = func(step string) error {
		if step == "noted" {
			return w.desk.store().remove(t.Context(), w.desk.store().place(w.namespace, r.ID, recordName))
		}
		return nil
	}
	if err := w.desk.Note(t.Context(), w.namespace, r.ID, "a", Preview{Run: "r"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	for info, err := range w.blobs.List(t.Context(), prefix+w.namespace+"/"+r.ID+"/"+planned) {
		t.Errorf("%s is left, %v", info.Key, err)
	}
}

// A deleted proposal leaves nothing, also of what was stored while it was deleted.
func TestADeletedProposalLeavesNothing(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	s := w.desk.store()
	if err := s.put(t.Context(), r, planned+"late", Preview{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := s.drop(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for info, err := range w.blobs.List(t.Context(), s.place(w.namespace, r.ID, "")) {
		t.Errorf("%s is left, %v", info.Key, err)
	}
}

// A preview that cannot be read says nothing about the use of a proposal: the namespace makes room all the same.
func TestADamagedPreviewMakesRoom(t *testing.T) {
	for sentence, text := range map[string]string{"not JSON": "x", "too large": `"` + strings.Repeat("x", maxPreview) + `"`} {
		w := newWorld(t)
		r := w.propose()
		if err := w.blobs.PutBytes(t.Context(), w.desk.store().place(w.namespace, r.ID, planned+"a"), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.desk.Previews(t.Context(), r); err == nil || !strings.Contains(err.Error(), "read the preview of "+w.namespace+"/a") {
			t.Errorf("%s: %v", sentence, err)
		}
		w.desk.Now = func() time.Time { return time.Now().Add(proposalRest + time.Minute) }
		if gone, _, err := w.desk.dropUnused(t.Context(), r); !gone || err != nil {
			t.Errorf("%s: the proposal stays: %v", sentence, err)
		}
	}
}

// An error of a plan may have any length; the preview stays readable.
func TestLongErrorsOfPlansAreCut(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	if err := w.desk.Note(t.Context(), w.namespace, r.ID, "a", Preview{Error: strings.Repeat("x", maxPreview)}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.desk.Previews(t.Context(), r); err != nil || len(got["a"].Error) != maxError {
		t.Errorf("an error of %d bytes, %v", len(got["a"].Error), err)
	}
}

// TestListsAreShort: they do not name each of 100000 instances.
func TestListsAreShort(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	list, _, err := w.desk.List(t.Context(), w.namespace)
	if err != nil || len(list) != 1 || list[0].Moved != nil || list[0].Steps != nil || list[0].MovedInstances != len(r.Moved) || list[0].MovedInstances == 0 {
		t.Errorf("%+v, %v", list, err)
	}
	whole, err := w.desk.Get(t.Context(), w.namespace, r.ID)
	if err != nil || len(whole.Moved) != len(r.Moved) || len(whole.Steps) != 4 {
		t.Errorf("%+v, %v", whole, err)
	}
}

// TestALockNamesItsRefactoring: it tells who holds it, and not to break it.
func TestALockNamesItsRefactoring(t *testing.T) {
	w := newWorld(t)
	r := w.propose()
	w.desk.broken = func(step string) error {
		if step == "locked b" || step == "retreat" {
			return errKilled
		}
		return nil
	}
	if _, err := w.desk.Apply(t.Context(), w.namespace, r.ID, Approval{By: "ben"}); err == nil {
		t.Fatal("it was not interrupted")
	}
	err := w.states.Lock(t.Context(), w.key("a"), state.LockInfo{ID: "run-9", Operation: "apply"})
	if err == nil || !strings.Contains(err.Error(), "locked by ben") || !strings.Contains(err.Error(), "yuba refactor show "+r.ID) || strings.Contains(err.Error(), "force-unlock") {
		t.Errorf("it says: %v", err)
	}
	holder, err := w.states.HolderNow(t.Context(), w.key("a"))
	if err != nil || holder == nil || !strings.Contains(holder.Info, "by ben: a, b, c") {
		t.Errorf("%+v, %v", holder, err)
	}
}
