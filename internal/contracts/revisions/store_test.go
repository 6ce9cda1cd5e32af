// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	key, err := blob.LoadOrCreateKey(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+t.TempDir(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() }) //nolint:errcheck // the directory goes anyway
	return &Store{Blobs: blobs}
}

func value(host, password string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"host": cty.StringVal(host), "password": cty.StringVal(password)})
}

var network = Producer{Stack: "uid-1", Contract: "base"}

func publish(t *testing.T, s *Store, v cty.Value, private bool, version string) (Revision, bool) {
	t.Helper()
	r, isNew, err := s.Publish(t.Context(), network, v, private, Revision{Version: version, PublishedAt: time.Unix(0, 0).UTC(), Run: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	return r, isNew
}

func TestRevisionsAreNumberedOverAllVersions(t *testing.T) {
	s := newStore(t)
	for i, test := range []struct {
		host, version string
		number        int64
		isNew         bool
	}{{"a", "1.0.0", 1, true}, {"a", "1.0.0", 1, false}, {"a", "2.0.0", 2, true}, {"b", "1.0.0", 3, true}, {"a", "1.0.0", 4, true}, {"a", "2.0.0", 2, false}} {
		if r, isNew := publish(t, s, value(test.host, ""), false, test.version); r.Number != test.number || isNew != test.isNew {
			t.Errorf("%d: revision %d, new: %v", i, r.Number, isNew)
		}
	}
	h, err := s.History(t.Context(), network)
	if err != nil {
		t.Fatal(err)
	}
	if heads := h.Heads(); len(heads) != 2 || heads[0].Number != 2 || heads[1].Number != 4 {
		t.Errorf("the last ones are %+v", heads)
	}
	for number, host := range map[int64]string{1: "a", 2: "a", 3: "b", 4: "a"} {
		v, err := s.Value(t.Context(), network, number)
		if err != nil || v.GetAttr("host").AsString() != host {
			t.Errorf("revision %d is %#v (%v)", number, v, err)
		}
	}
}

func TestDigestsOfPrivateValuesAreKeyed(t *testing.T) {
	one, other := newStore(t), newStore(t)
	r1, _ := publish(t, one, value("a", "secret"), true, "1.0.0")
	r2, _ := publish(t, other, value("a", "secret"), true, "1.0.0")
	if !strings.HasPrefix(r1.Digest, "hmac-sha256:") || r1.Digest == r2.Digest {
		t.Errorf("digests: %s and %s", r1.Digest, r2.Digest)
	}
	if _, isNew := publish(t, one, value("a", "secret"), true, "1.0.0"); isNew {
		t.Error("the same value is a new revision")
	}
	h, err := one.Lookup(t.Context(), network, r1.Number)
	if err != nil {
		t.Fatal(err)
	}
	private := paths.Of(paths.Path{}.Attribute("password"))
	for part, prefix := range map[string]string{"host": "sha256:", "password": "hmac-sha256:"} {
		digest, err := h.Part(value("a", "secret"), paths.Of(paths.Path{}.Attribute(part)), private)
		if err != nil || !strings.HasPrefix(digest, prefix) {
			t.Errorf("the digest of %s is %s (%v)", part, digest, err)
		}
	}
}

func TestOldRevisionsGo(t *testing.T) {
	s := newStore(t)
	publish(t, s, value("first", ""), false, "1.0.0")
	for i := range Kept + 5 {
		publish(t, s, value(fmt.Sprint(i), ""), false, "2.0.0")
	}
	h, err := s.History(t.Context(), network)
	if err != nil || len(h.Revisions) != Kept+1 {
		t.Fatalf("%d revisions are kept (%v)", len(h.Revisions), err)
	}
	if _, ok := h.Last("1.0.0"); !ok {
		t.Error("the last revision of a version is gone")
	}
	if _, err := s.Value(t.Context(), network, 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("an old value: %v", err)
	}
	if err := s.Retire(t.Context(), network, "2.0.0"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup(t.Context(), network, h.Revisions[len(h.Revisions)-1].Number); !errors.Is(err, ErrNotFound) {
		t.Errorf("a retired version: %v", err)
	}
	// Numbers are never used again.
	if r, _ := publish(t, s, value("again", ""), false, "2.0.0"); r.Number != Kept+7 {
		t.Errorf("the next number is %d", r.Number)
	}
	if stacks, err := s.Stacks(t.Context()); err != nil || len(stacks) != 1 || stacks[0].Salt != "uid-1" || time.Since(stacks[0].Changed) > time.Hour {
		t.Errorf("stacks: %v (%v)", stacks, err)
	}
	if err := s.Forget(t.Context(), "uid-1"); err != nil {
		t.Fatal(err)
	}
	if stacks, err := s.Stacks(t.Context()); err != nil || len(stacks) != 0 {
		t.Errorf("after all: %v (%v)", stacks, err)
	}
	if _, err := s.Value(t.Context(), network, Kept+7); !errors.Is(err, ErrNotFound) {
		t.Errorf("a forgotten value: %v", err)
	}
}

func TestRevisionsOfWhatIsGoneAreCollected(t *testing.T) {
	s := newStore(t)
	for _, salt := range []string{"stack", "bridge", "gone"} {
		for number := range 2 {
			if _, _, err := s.Publish(t.Context(), Producer{salt, "base"}, value(fmt.Sprint("db-", number), "secret"), true, Revision{Version: "1.0.0"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(want string) {
		t.Helper()
		held, err := s.Stacks(t.Context())
		var salts []string
		for _, h := range held {
			salts = append(salts, h.Salt)
		}
		if got := strings.Join(salts, " "); err != nil || got != want {
			t.Errorf("%q is there, want %q (%v)", got, want, err)
		}
	}
	lives := func(context.Context) (map[string]bool, error) {
		return map[string]bool{"stack": true, "bridge": true}, nil
	}
	soon := time.Now().Add(time.Hour)
	if n, err := s.Collect(t.Context(), lives, time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("young ones: %d, %v", n, err)
	}
	broken := errors.New("no answer")
	if n, err := s.Collect(t.Context(), func(context.Context) (map[string]bool, error) { return nil, broken }, soon); n != 0 || !errors.Is(err, broken) {
		t.Errorf("while it is unknown who lives: %d, %v", n, err)
	}
	has("bridge gone stack")
	if n, err := s.Collect(t.Context(), lives, soon); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	has("bridge stack")
	if _, err := s.Value(t.Context(), Producer{"gone", "base"}, 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("its value: %v", err)
	}
}
