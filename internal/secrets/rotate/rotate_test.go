// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt/sopsfile"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
	"github.com/yuba-dev/yuba/internal/testkit/sopstest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
)

// errKilled is what a call ends with that is killed at a write.
var errKilled = errors.New("killed")

// mortal is a place whose process is killed before or after one of its writes.
type mortal struct {
	keep.Place
	writes, dies int
	after        bool
}

func (m *mortal) Write(ctx context.Context, d decide.Document, over string) error {
	m.writes++
	if m.writes == m.dies && !m.after {
		return errKilled
	}
	err := m.Place.Write(ctx, d, over)
	if m.writes == m.dies && err == nil {
		return errKilled
	}
	return err
}

// stacks applies the values that are in a place, and fails as told.
type stacks struct {
	place keep.Place
	// uses is the value that each stack applied last.
	uses  map[string]string
	ran   []string
	fails map[string]int
	off   string
	// meanwhile is what others do while a stack runs; may be nil.
	meanwhile func()
	// there are stacks that still read the values, whoever continues.
	there map[string]bool
}

func (s *stacks) Gone(_ context.Context, name string) error {
	if s.there[name] {
		return fmt.Errorf("%s still reads the values", name)
	}
	return nil
}

func (s *stacks) Check(_ context.Context, name string) error {
	if name == s.off {
		return errors.New("it is suspended")
	}
	return nil
}

func (s *stacks) Run(ctx context.Context, name string) error {
	d, _, err := s.place.Read(ctx)
	if err != nil {
		return err
	}
	s.ran = append(s.ran, name)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	if s.fails[name] > 0 {
		s.fails[name]--
		return &rotate.FailedError{Message: "no"}
	}
	s.uses[name] = d.Values["db"].Reveal()
	return nil
}

// world is an environment in a store of AWS, with a copy.
type world struct {
	*testing.T
	store, copy keep.Place
	stacks      *stacks
	now         time.Time
	news        []string
}

const environment = "store: {ssm: {name: /shop, region: eu-central-1}}\nsecrets:\n  db: {password: {}, rotateEvery: 30d}\n  api: {token: {}}\n"

func newWorld(t *testing.T) *world {
	t.Helper()
	s := ssmtest.New(t)
	at := func(name string) keep.Place {
		return &keep.JSON{Store: &store.SSM{Parameter: name, Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}}}
	}
	w := &world{T: t, store: at("/shop"), copy: at("/copy"), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.stacks = &stacks{place: w.copy, uses: map[string]string{}, fails: map[string]int{}}
	return w
}

// keeper is a new process.
func (w *world) keeper(text string, dependents ...string) *rotate.Keeper {
	w.Helper()
	f, err := declare.Read("secrets.yaml", []byte(text))
	if err != nil {
		w.Fatal(err)
	}
	return &rotate.Keeper{Environment: "staging", File: f, Store: w.store, Copies: []keep.Place{w.copy}, Dependents: dependents, Stacks: w.stacks,
		Now: func() time.Time { return w.now }, News: func(format string, args ...any) { w.news = append(w.news, fmt.Sprintf(format, args...)) }}
}

func (w *world) values(p keep.Place) map[string]decide.Value {
	w.Helper()
	d, _, err := p.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return d.Values
}

func TestInitIsIdempotent(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(environment)
	if _, err := k.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	first := w.values(w.store)
	if len(first) != 2 || w.values(w.copy)["db"] != first["db"] {
		t.Fatalf("there are %d values", len(first))
	}
	counted := &mortal{Place: w.store}
	k.Store = counted
	r, err := k.Init(t.Context(), false)
	if err != nil || counted.writes > 0 || w.values(w.store)["db"] != first["db"] {
		t.Errorf("the second call wrote %d times: %v", counted.writes, err)
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), first["db"].Reveal()) || !strings.Contains(string(text), `"age":"0s"`) {
		t.Errorf("the report is %s, %v", text, err)
	}
	var action *rotate.ActionError
	_, err = w.keeper(strings.Replace(environment, "password: {}", "password: {length: 40}", 1)).Init(t.Context(), false)
	if !errors.As(err, &action) || !strings.Contains(err.Error(), "length was 32, is 40") || w.values(w.store)["db"] != first["db"] {
		t.Errorf("a changed generator: %v", err)
	}
	less := w.keeper("store: {ssm: {name: /shop, region: eu-central-1}}\nsecrets:\n  db: {password: {}}\n")
	if _, err := less.Init(t.Context(), false); err != nil || w.values(w.store)["api"] == "" {
		t.Errorf("a secret that is not declared any more is gone, %v", err)
	}
	if _, err := less.Init(t.Context(), true); err != nil || w.values(w.store)["api"] != "" || w.values(w.copy)["api"] != "" {
		t.Errorf("it was not pruned, %v", err)
	}
}

// staging's file names prod's store, or the store of no namespace that prod uses, too.
func TestAnotherEnvironmentIsNotTouched(t *testing.T) {
	w := newWorld(t)
	prod := w.keeper(environment)
	prod.Environment = "prod"
	if _, err := prod.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	was, copied := w.values(w.store), w.values(w.copy)
	s := ssmtest.New(t)
	own := &keep.JSON{Store: &store.SSM{Parameter: "/own", Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}}}
	for sentence, test := range map[string]struct {
		store, copy keep.Place
		want        string
	}{
		"the same store":              {w.store, w.copy, "it has the secrets of environment prod"},
		"a copy as the store":         {w.copy, own, "it is a copy of the secrets of environment prod"},
		"a copy in prod's store":      {own, w.store, "it is no copy, but keeps the secrets of environment prod"},
		"a copy in place of a copy's": {own, w.copy, "it is a copy of another store, of environment prod"},
	} {
		k := w.keeper("overlap: 0s\n" + environment)
		k.Store, k.Copies = test.store, []keep.Place{test.copy}
		_, initErr := k.Init(t.Context(), true)
		_, rotateErr := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}})
		for _, err := range []error{initErr, rotateErr} {
			var strange *keep.StrangeError
			if !errors.As(err, &strange) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", sentence, err)
			}
		}
		if !maps.Equal(w.values(w.store), was) || !maps.Equal(w.values(w.copy), copied) {
			t.Fatalf("%s: values of prod changed", sentence)
		}
	}
}

func TestNothingIsCopiedBeforeItIsMade(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "yuba secrets init staging") {
		t.Errorf("got %v", err)
	}
}

// Killed before or after each of its writes, a rotation continues with the next call, and ends with one value
// that all stacks use.
func TestAKillAtEachWrite(t *testing.T) {
	for _, fails := range []string{"", "a/two"} {
		for dies := 1; ; dies++ {
			for _, after := range []bool{false, true} {
				w := newWorld(t)
				if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
					t.Fatal(err)
				}
				old := w.values(w.store)["db"].Reveal()
				dependents := []string{"a/one", "a/two", "a/three"}
				if fails != "" {
					w.stacks.fails[fails] = 1
				}
				victim := &mortal{Place: w.store, dies: dies, after: after}
				k := w.keeper(environment, dependents...)
				k.Store = victim
				_, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}})
				if victim.writes < dies {
					if dies < 5 {
						t.Fatalf("a rotation has only %d writes", victim.writes)
					}
					goto next
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("write %d: %v", dies, err)
				}
				kept := false
				for _, value := range w.values(w.store) {
					kept = kept || value.Reveal() == old
				}
				finished := after && w.values(w.store)["db"].Reveal() != old && len(w.values(w.store)) == 2
				if !kept && !finished {
					t.Fatalf("write %d, after %v: the old value is lost", dies, after)
				}
				// What was killed before its first write never began.
				if _, err := w.keeper(environment, dependents...).Rotate(t.Context(), rotate.Ask{}); err != nil && !strings.Contains(err.Error(), "rolled back") {
					t.Fatalf("write %d, after %v: the next call: %v", dies, after, err)
				}
				now := w.values(w.store)
				if len(now) != 2 || w.values(w.copy)["db"] != now["db"] || len(w.values(w.copy)) != 2 {
					t.Fatalf("write %d, after %v: in the end there are %d values", dies, after, len(now))
				}
				for name, value := range w.stacks.uses {
					if value != now["db"].Reveal() {
						t.Fatalf("write %d, after %v: %s uses another value", dies, after, name)
					}
				}
			}
		}
	next:
	}
}

// Without dependents, too, copies never keep an old value that the store has forgotten.
func TestAKillAtEachWriteOfACopy(t *testing.T) {
	for _, after := range []bool{false, true} {
		for dies := 1; ; dies++ {
			w := newWorld(t)
			const text = "overlap: 0s\n" + environment
			if _, err := w.keeper(text).Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			store, copies := &mortal{Place: w.store}, &mortal{Place: w.copy, dies: dies, after: after}
			k := w.keeper(text)
			k.Store, k.Copies = store, []keep.Place{copies}
			_, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}})
			if copies.writes < dies {
				if dies < 3 || err != nil {
					t.Fatalf("a rotation writes its copy %d times: %v", copies.writes, err)
				}
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatalf("write %d: %v", dies, err)
			}
			if _, err := w.keeper(text).Rotate(t.Context(), rotate.Ask{}); err != nil {
				t.Fatalf("write %d, after %v: the next call: %v", dies, after, err)
			}
			if now := w.values(w.store); len(now) != 2 || !maps.Equal(w.values(w.copy), now) {
				t.Fatalf("write %d, after %v: the store has %d values and the copy %d", dies, after, len(now), len(w.values(w.copy)))
			}
		}
	}
}

// overtaken is a place in which another process rotates before a write.
type overtaken struct {
	keep.Place
	at    int
	other func()
}

func (o *overtaken) Write(ctx context.Context, d decide.Document, over string) error {
	if o.at--; o.at == 0 {
		o.other()
	}
	return o.Place.Write(ctx, d, over)
}

// A process that another one overtakes copies what is in the store, not what it wanted to write.
func TestAnOvertakenCallCopiesTheStore(t *testing.T) {
	const text = "overlap: 0s\n" + environment
	for at := 1; ; at++ {
		w := newWorld(t)
		if _, err := w.keeper(text).Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		slow := &overtaken{Place: w.store, at: at}
		slow.other = func() {
			for range 2 { // it finishes the rotation, and makes another one
				if _, err := w.keeper(text).Rotate(t.Context(), rotate.Ask{Names: []string{"db"}}); err != nil {
					t.Error(err)
				}
			}
		}
		k := w.keeper(text)
		k.Store = slow
		if _, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}}); err != nil {
			t.Fatal(err)
		}
		if now := w.values(w.store); len(now) != 2 || !maps.Equal(w.values(w.copy), now) {
			t.Fatalf("overtaken at write %d: the copy is not the store", at)
		}
		if slow.at > 0 {
			if at < 3 {
				t.Fatal("a rotation has less than three writes")
			}
			return
		}
	}
}

// Whoever continues from another namespace finds other stacks: the old value stays until those of the rotation
// have run.
func TestStacksOfARotationAreNotForgotten(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	old := w.values(w.store)["db"]
	first := w.keeper(environment, "prod/app", "prod/web")
	first.Store = &mortal{Place: w.store, dies: 2}
	if _, err := first.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	w.stacks.ran, w.stacks.there = nil, map[string]bool{"prod/app": true}
	for _, known := range [][]string{nil, {"other/app"}} {
		_, err := w.keeper("overlap: 0s\n"+environment, known...).Rotate(t.Context(), rotate.Ask{Now: true})
		if err == nil || !strings.Contains(err.Error(), "continue the rotation of db: prod/app still reads the values") || len(w.stacks.ran) > 0 || w.values(w.store)["db_previous"] != old {
			t.Fatalf("got %v, and %v ran", err, w.stacks.ran)
		}
	}
	blind := w.keeper("overlap: 0s\n" + environment)
	blind.Stacks = nil
	if _, err := blind.Rotate(t.Context(), rotate.Ask{}); err == nil || !strings.Contains(err.Error(), "it began with prod/app, prod/web") {
		t.Errorf("got %v", err)
	}
	// prod/web was deleted meanwhile.
	if _, err := w.keeper(environment, "prod/app").Rotate(t.Context(), rotate.Ask{}); err != nil || len(w.values(w.store)) != 2 || strings.Join(w.stacks.ran, " ") != "prod/app prod/app" {
		t.Errorf("%v ran, %v", w.stacks.ran, err)
	}
}

// What could be made but not be rotated in a store is not made.
func TestInitKeepsRoomForARotation(t *testing.T) {
	w := newWorld(t)
	text := "store: {ssm: {name: /shop, region: eu-central-1}}\nsecrets:\n"
	for i := range 9 {
		text += fmt.Sprintf("  p%d: {password: {length: 500}}\n", i)
	}
	if _, err := w.keeper(text).Init(t.Context(), false); err == nil || !strings.Contains(err.Error(), "there is room for 4096") || len(w.values(w.store)) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestASecretThatWasNotMadeIsNotRotated(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	was := w.values(w.store)
	_, err := w.keeper(environment+"  new: {token: {}}\n").Rotate(t.Context(), rotate.Ask{Names: []string{"db", "new"}})
	if err == nil || !strings.Contains(err.Error(), "yuba secrets init staging") || !maps.Equal(w.values(w.store), was) {
		t.Errorf("got %v", err)
	}
}

func TestNothingBeginsIfAStackCannotRun(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(environment, "a/one")
	if _, err := k.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.stacks.off = "a/one"
	_, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"db"}})
	if err == nil || !strings.Contains(err.Error(), "nothing was changed, because a/one could not run") || len(w.values(w.store)) != 2 {
		t.Errorf("got %v", err)
	}
	var unknown *rotate.UnknownError
	w.stacks.off = ""
	if _, err := k.Rotate(t.Context(), rotate.Ask{Names: []string{"dbb"}}); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

func TestDueSecretsAreRotatedAndOldValuesOverlap(t *testing.T) {
	w := newWorld(t)
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	before := w.values(w.store)
	w.now = w.now.Add(31 * 24 * time.Hour)
	k := w.keeper(environment)
	var waiting *rotate.WaitingError
	if _, err := k.Rotate(t.Context(), rotate.Ask{Due: true}); !errors.As(err, &waiting) {
		t.Fatalf("without readers that are known, both values are valid for a day: %v", err)
	}
	now := w.values(w.copy)
	if now["db"] == before["db"] || now["db_previous"] != before["db"] || now["api"] != before["api"] {
		t.Error("the copy does not have both values of db")
	}
	w.now = w.now.Add(25 * time.Hour)
	if _, err := k.Rotate(t.Context(), rotate.Ask{}); err != nil || len(w.values(w.copy)) != 2 {
		t.Errorf("the rotation did not end: %v", err)
	}
	r, err := k.Look(t.Context())
	if err != nil || len(r.Findings()) != 0 {
		t.Errorf("there are findings: %v, %v", r.Findings(), err)
	}
}

// cipher calls the library of yuba-sops in this process.
type cipher struct{ identity *age.X25519Identity }

func (c *cipher) Open(_ context.Context, content []byte) ([]byte, error) {
	return sopsfile.Open(decrypt.Request{Data: content, From: decrypt.YAML, To: decrypt.YAML, Verify: true,
		Keys: decrypt.KeyTexts{From: "the test", Age: [][]byte{[]byte(c.identity.String())}}})
}

func (c *cipher) Seal(_ context.Context, plain []byte, recipients []string) ([]byte, error) {
	return sopsfile.Seal(decrypt.Request{Data: plain, From: decrypt.YAML, To: decrypt.YAML, Recipients: recipients})
}

// Two processes that rotate at the same time end with one value. SSM cannot compare and write in one step, so
// this is promised for the other stores.
func TestTwoCallsAtOnce(t *testing.T) {
	w := newWorld(t)
	identity := sopstest.Identity(t)
	w.store = &keep.SOPS{Path: filepath.Join(t.TempDir(), "s.yaml"), Label: "s.yaml", Recipients: []string{identity.Recipient().String()}, Cipher: &cipher{identity}}
	if _, err := w.keeper(environment).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	for range 2 {
		k := w.keeper("overlap: 0s\n" + environment)
		k.Copies, k.News = nil, func(string, ...any) {}
		go func() {
			_, err := k.Rotate(context.Background(), rotate.Ask{Names: []string{"db"}})
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if got := w.values(w.store); len(got) != 2 {
		t.Errorf("there are %d values", len(got))
	}
}
