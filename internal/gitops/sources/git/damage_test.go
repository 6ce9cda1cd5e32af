// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestDamagedMirrorsAreClonedAgain(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	files := gittest.Files{"main.tf": "one", "big": noise(200 << 10), "dir/x": "y"}
	r.Commit(t, "first", files)
	for name, damage := range map[string]func(t *testing.T, path string, entry fs.DirEntry) error{
		"packs are gone":    remove(".pack"),
		"indexes are gone":  remove(".idx"),
		"packs are cut off": change(".pack", func(b []byte) []byte { return b[:len(b)/2] }),
		"packs are empty":   change(".pack", func([]byte) []byte { return nil }),
		"a bit is wrong": change(".pack", func(b []byte) []byte {
			b[len(b)/2] ^= 4
			return b
		}),
		"indexes are garbage":         change(".idx", func(b []byte) []byte { return []byte(noise(len(b))) }),
		"objects of a fetch are gone": remove("loose"),
		"objects of a fetch are cut":  change("loose", func(b []byte) []byte { return b[:len(b)/2] }),
		"marks are empty":             change("tips", func([]byte) []byte { return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, Options{})
			up := Upstream{URL: r.URL()}
			fetched(t, look(t, m, up, main))
			r.Commit(t, name, gittest.Files{"main.tf": name})
			found := look(t, m, up, main)
			fetched(t, found)
			err := filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				return damage(t, path, entry)
			})
			if err != nil {
				t.Fatal(err)
			}
			// The machine restarts.
			if m, err = Open(m.dir, Options{}); err != nil {
				t.Fatal(err)
			}
			if name == "marks are empty" {
				r.Commit(t, name, gittest.Files{"dir/x": name})
			}
			for range 2 {
				want := map[string]string{"main.tf": name, "big": files["big"], "dir/x": r.Git(t, "show", "HEAD:dir/x")}
				if diff := cmp.Diff(want, fetched(t, look(t, m, up, main))); diff != "" {
					t.Errorf("the tree (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// kindOf returns the kind of a mirror's file.
func kindOf(path string) string {
	switch {
	case strings.Contains(path, "/tips/"):
		return "tips"
	case strings.Contains(path, "/objects/") && !strings.Contains(path, "/pack/"):
		return "loose"
	}
	return filepath.Ext(path)
}

func remove(kind string) func(*testing.T, string, fs.DirEntry) error {
	return func(_ *testing.T, path string, _ fs.DirEntry) error {
		if kindOf(path) != kind {
			return nil
		}
		return os.Remove(path)
	}
}

func change(kind string, how func([]byte) []byte) func(*testing.T, string, fs.DirEntry) error {
	return func(_ *testing.T, path string, _ fs.DirEntry) error {
		if kindOf(path) != kind {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		return os.WriteFile(path, how(content), 0o600)
	}
}

// cut is a server whose packs end after some bytes.
func cut(after int, then func()) faulttest.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = io.WriteString(w, "0008NAK\n") // The client may be gone.
		_, _ = io.WriteString(w, "fff0\x01PACK\x00\x00\x00\x02\x00\x00\x00\x09"+noise(after))
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		then()
		return true
	}
}

// fetchingOf returns the running fetch, if any.
func fetchingOf(m *Mirrors) *fetch {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.mirrors {
		one.mu.Lock()
		f := one.fetching
		one.mu.Unlock()
		if f != nil {
			return f
		}
	}
	return nil
}

func TestFetchesThatAreInterrupted(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	up := Upstream{URL: r.URL()}
	found := look(t, m, up, main)

	server.SetFault(cut(1000, func() {}))
	wantFailure(t, found.Fetch(patient(t), t.TempDir()), ReasonOperation)

	m.idle = 100 * time.Millisecond
	server.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		return cut(1000, func() { <-r.Context().Done() })(w, r)
	})
	wantFailure(t, found.Fetch(patient(t), t.TempDir()), ReasonOperation, "stopped sending")
	m.idle = idleLimit

	// The only caller gives up during the transfer, which ends the fetch.
	ended := make(chan struct{})
	var begun atomic.Bool
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		return cut(1000, func() {
			begun.Store(true)
			cancel()
			<-r.Context().Done()
			close(ended)
		})(w, r)
	})
	wantFailure(t, found.Fetch(ctx, t.TempDir()), ReasonOperation, "it was interrupted")
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the fetch continues without callers")
	}
	if !begun.Load() {
		t.Error("nothing was fetched")
	}

	// Wait until the cancelled fetch has removed its temporary files.
	if f := fetchingOf(m); f != nil {
		<-f.done
	}

	// The machine crashes during a fetch: the next fetch removes the remains.
	dir := filepath.Join(m.dir, found.Upstream, "shallow", "tmp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pack-1"), []byte("PACK"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.SetFault(nil)
	m, err := Open(m.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantOne(t, look(t, m, up, main))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the remains of an interrupted fetch still exist: %v, %v", left, err)
	}
}

func TestACallerThatGivesUpDoesNotDelayOthers(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	found := look(t, m, Upstream{URL: r.URL()}, main)
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	server.SetFault(func(_ http.ResponseWriter, _ *http.Request) bool {
		arrived <- struct{}{}
		<-release
		return false
	})
	impatient, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	dirs := []string{t.TempDir(), t.TempDir()}
	go func() { first <- found.Fetch(impatient, dirs[0]) }()
	<-arrived
	go func() { second <- found.Fetch(patient(t), dirs[1]) }()
	mirror, err := m.mirror(Upstream{URL: r.URL()})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		mirror.mu.Lock()
		f := mirror.fetching
		mirror.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting == 2
	})
	cancel()
	wantFailure(t, <-first, ReasonOperation, "it was interrupted")
	close(release)
	if err := <-second; err != nil {
		t.Error(err)
	}
	if got := server.Counts("central"); got.Fetches != 1 {
		t.Errorf("there were %d fetches, want one", got.Fetches)
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCollect(t *testing.T) {
	server := gittest.New(t)
	m := open(t, Options{})
	var found []*Found
	for _, name := range []string{"a", "b", "c"} {
		r := server.Repository(t, name)
		r.Commit(t, "first", gittest.Files{"main.tf": "one", "noise": noise(100 << 10)})
		found = append(found, look(t, m, Upstream{URL: r.URL()}, main))
		wantOne(t, found[len(found)-1])
	}
	total, err := m.Collect(patient(t), time.Hour, 0)
	if err != nil || total < 300<<10 {
		t.Fatalf("%d bytes are kept, %v", total, err)
	}
	left, err := m.Collect(patient(t), time.Hour, total-1)
	if err != nil || left >= total || left < 200<<10 {
		t.Errorf("%d of %d bytes are kept, %v; want one mirror less", left, total, err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, found[0].Upstream)); !os.IsNotExist(err) {
		t.Error("the least recently used mirror still exists")
	}
	// A removed mirror is fetched again.
	wantOne(t, found[0])
	// After a restart, the directories contain the time of the last use.
	if m, err = Open(m.dir, Options{}); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(m.dir, found[1].Upstream), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Collect(patient(t), 24*time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, found[1].Upstream)); !os.IsNotExist(err) {
		t.Error("a mirror that was not used for two days still exists")
	}
	if _, err := os.Stat(filepath.Join(m.dir, found[2].Upstream)); err != nil {
		t.Error("a mirror that was used today is missing")
	}
	if left, err := m.Collect(patient(t), 0, 0); err != nil || left != 0 {
		t.Errorf("%d bytes are kept, %v", left, err)
	}
}

func TestStoresAreReplacedAfterManyFetches(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	up := Upstream{URL: r.URL()}
	wantOne(t, look(t, m, up, main))
	mirror, err := m.mirror(up)
	if err != nil {
		t.Fatal(err)
	}
	s := mirror.store(true)
	for n := range maxTips {
		other := hash("f")
		other[19] = byte(n)
		if err := s.mark(other, hash("e")); err != nil {
			t.Fatal(err)
		}
	}
	server.Reset()
	r.Commit(t, "second", gittest.Files{"x": "y"})
	wantOne(t, look(t, m, up, main))
	if got := server.Counts("central"); got.Clones != 1 {
		t.Errorf("the requests are %+v, want a clone", got)
	}
	if tips, err := s.tips(); err != nil || len(tips) != 1 {
		t.Errorf("there are %d marks, %v", len(tips), err)
	}
}
