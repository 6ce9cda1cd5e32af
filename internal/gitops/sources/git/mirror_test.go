// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestAHundredCallersCauseOneLookAndOneClone(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	head := r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	m := open(t, Options{})
	up, want := Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}, MaxAge: time.Hour}
	together := func() {
		t.Helper()
		var group sync.WaitGroup
		for range 100 {
			dir := t.TempDir()
			group.Go(func() {
				found, err := m.Look(patient(t), up, want)
				if err == nil && found.Revision != "main@sha1:"+head {
					err = errors.New("it found " + found.Revision)
				}
				if err == nil {
					err = found.Fetch(patient(t), dir)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	together()
	if diff := cmp.Diff(gittest.Counts{Lookups: 1, Fetches: 1, Clones: 1}, server.Counts("central")); diff != "" {
		t.Errorf("the first look (-want +got):\n%s", diff)
	}
	together()
	if diff := cmp.Diff(gittest.Counts{Lookups: 1, Fetches: 1, Clones: 1}, server.Counts("central")); diff != "" {
		t.Errorf("a shared look (-want +got):\n%s", diff)
	}
	head = r.Commit(t, "second", gittest.Files{"main.tf": "two"})
	look(t, m, up, Want{Ref: Ref{Branch: "main"}})
	together()
	if diff := cmp.Diff(gittest.Counts{Lookups: 2, Fetches: 2, Clones: 1}, server.Counts("central")); diff != "" {
		t.Errorf("after a commit and a fresh look (-want +got):\n%s", diff)
	}
}

func TestFailuresAreShared(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	up, want := Upstream{URL: r.URL()}, Want{Ref: main.Ref, MaxAge: time.Hour}
	var asked atomic.Int32
	release := make(chan struct{})
	server.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		<-release
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := m.Look(patient(t), up, want)
			if err == nil {
				t.Error("the look succeeded")
			}
		})
	}
	mirror, err := m.mirror(up)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		mirror.mu.Lock()
		f := mirror.looking
		mirror.mu.Unlock()
		if f == nil {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting == 50
	})
	close(release)
	group.Wait()
	if asked.Load() != 1 {
		t.Errorf("concurrent callers caused %d requests", asked.Load())
	}
	mirror.mu.Lock()
	mirror.failedAt = time.Now().Add(time.Hour)
	mirror.mu.Unlock()
	if _, err := m.Look(patient(t), up, want); err == nil || asked.Load() != 1 {
		t.Errorf("the next caller got %v after %d requests", err, asked.Load())
	}
	// A fresh look causes a request.
	server.SetFault(nil)
	look(t, m, up, main)
	look(t, m, up, want)
	// A cancelled look is not a failure of the upstream.
	stalled := make(chan struct{})
	server.SetFault(faulttest.Stall(stalled))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Look(ctx, up, main); err == nil {
		t.Error("the look succeeded")
	}
	waitUntil(t, func() bool {
		mirror.mu.Lock()
		defer mirror.mu.Unlock()
		return mirror.looking == nil
	})
	mirror.mu.Lock()
	defer mirror.mu.Unlock()
	close(stalled)
	if mirror.failed != nil {
		t.Errorf("the mirror remembers the failure %v", mirror.failed)
	}
}

func TestFetchesAreIncremental(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	big := noise(1 << 20)
	r.Commit(t, "first", gittest.Files{"big": big, "main.tf": "one"})
	m := open(t, Options{MaxPack: 2 << 20})
	up, want := Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}}
	if diff := cmp.Diff(map[string]string{"big": big, "main.tf": "one"}, fetched(t, look(t, m, up, want))); diff != "" {
		t.Fatal(diff)
	}
	// From here on, the limit is smaller than the large file.
	m.options.MaxPack = 100 << 10
	first := r.Head(t)
	for _, content := range []string{"two", "three", "four"} {
		head := r.Commit(t, content, gittest.Files{"main.tf": content, "dir/" + content: content})
		found := look(t, m, up, want)
		if found.Revision != "main@sha1:"+head {
			t.Errorf("the revision is %s, want that of %s", found.Revision, head)
		}
		if got := fetched(t, found)["main.tf"]; got != content {
			t.Errorf("the file is %q, want %q", got, content)
		}
	}
	r.Rewind(t, first)
	head := r.Commit(t, "instead", gittest.Files{"main.tf": "instead"})
	r.Git(t, "-C", r.Path(), "reflog", "expire", "--expire=now", "--all")
	r.Git(t, "-C", r.Path(), "gc", "--quiet", "--prune=now")
	found := look(t, m, up, want)
	if found.Revision != "main@sha1:"+head {
		t.Errorf("after a force push the revision is %s, want that of %s", found.Revision, head)
	}
	if diff := cmp.Diff(map[string]string{"big": big, "main.tf": "instead"}, fetched(t, found)); diff != "" {
		t.Errorf("after a force push (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(gittest.Counts{Lookups: 5, Fetches: 5, Clones: 1}, server.Counts("central")); diff != "" {
		t.Errorf("the requests (-want +got):\n%s", diff)
	}
}

func TestNewsAreReported(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	r.Tag(t, "v1")
	var news []string
	m := open(t, Options{News: func(upstream string) { news = append(news, upstream) }})
	up := Upstream{URL: r.URL()}
	before := look(t, m, up, Want{Ref: Ref{Tag: "v1"}})
	look(t, m, up, Want{Ref: Ref{Tag: "v1"}})
	if len(news) != 0 {
		t.Errorf("news before any change: %v", news)
	}
	head := r.Commit(t, "second", gittest.Files{"main.tf": "two"})
	r.Tag(t, "v1")
	// A look at the branch also reports news to the users of the tag.
	look(t, m, up, Want{Ref: Ref{Branch: "main"}})
	if diff := cmp.Diff([]string{before.Upstream}, news); diff != "" || before.Upstream != m.Key(up) {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	after := look(t, m, up, Want{Ref: Ref{Tag: "v1"}, MaxAge: time.Hour})
	if after.Revision != "v1@sha1:"+head {
		t.Errorf("after the tag moved, the revision is %s", after.Revision)
	}
	if got := server.Counts("central"); got.Lookups != 3 || got.Fetches != 0 {
		t.Errorf("the requests are %+v, want three looks", got)
	}
	if before.ContentKey == after.ContentKey {
		t.Error("two trees have equal keys")
	}
}

func TestLooksAreNotRememberedForMissingReferences(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	m := open(t, Options{})
	look(t, m, Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}, MaxAge: time.Hour})
	r.Tag(t, "v1.0.0")
	if found := look(t, m, Upstream{URL: r.URL()}, Want{Ref: Ref{SemVer: "1.x"}, MaxAge: time.Hour}); found.Revision != "v1.0.0@sha1:"+r.Head(t) {
		t.Errorf("the revision is %s", found.Revision)
	}
}

func TestOtherCredentialsUseAnotherMirror(t *testing.T) {
	m := open(t, Options{})
	keys := map[string]bool{}
	for _, up := range []Upstream{
		{URL: "https://h/a"},
		{URL: "https://h/b"},
		{URL: "https://h/a", Secret: map[string][]byte{"username": []byte("x"), "password": []byte("y")}},
		{URL: "https://h/a", Secret: map[string][]byte{"username": []byte("xy"), "password": nil}},
		{URL: "https://h/a", Secret: map[string][]byte{"bearerToken": []byte("xy")}},
	} {
		if keys[m.Key(up)] {
			t.Errorf("%v shares a mirror with another one", up)
		}
		keys[m.Key(up)] = true
		if other := open(t, Options{}); m.Key(up) == other.Key(up) {
			t.Error("the name of a mirror does not depend on the salt")
		}
		if again, err := Open(m.dir, Options{}); err != nil || m.Key(up) != again.Key(up) {
			t.Errorf("the name of a mirror changed: %v", err)
		}
	}
}

// noise is text that does not compress.
func noise(n int) string {
	b := make([]byte, n)
	state := uint32(2463534242)
	for i := range b {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b[i] = byte(state)
	}
	return string(b)
}
