// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

func TestTwentyWhoWantTheSameAtOnceDownloadItOnce(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	var group sync.WaitGroup
	led := make(chan bool, 20)
	for range 20 {
		group.Go(func() {
			got, err := b.get(Want{Constraints: "~> 1.0"})
			if err != nil {
				t.Error(err)
				return
			}
			led <- got.Downloaded
		})
	}
	group.Wait()
	close(led)
	downloads := 0
	for d := range led {
		if d {
			downloads++
		}
	}
	if c := b.registry.Counts(); c.Archives != 1 || c.Bytes != b.registry.Size(thing, "1.2.3") || downloads != 1 || b.calls.Load() != 1 {
		t.Errorf("%+v, %d say they downloaded, %d calls", c, downloads, b.calls.Load())
	}
}

func TestWhatIsStoredIsWhatWasAccepted(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	got := b.must(Want{Version: "1.2.3"})
	h1, err := dirhash.HashDir(got.Dir, "", dirhash.Hash1)
	if err != nil || h1 != got.H1 {
		t.Errorf("%s %v, want %s", h1, err, got.H1)
	}
	own, other := b.registry.Hashes(thing, "1.2.3")
	for _, want := range []string{h1, own, other} {
		if !strings.Contains(strings.Join(got.Hashes, " "), want) {
			t.Errorf("the hash %s is not in %v", want, got.Hashes)
		}
	}
	entries, err := os.ReadDir(got.Dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v %v", entries, err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s can be written to: %v %v", entry.Name(), info.Mode(), err)
		}
	}
	again := b.must(Want{Version: "1.2.3"})
	if again.Downloaded || b.calls.Load() != 1 {
		t.Errorf("it was fetched again: %+v", again)
	}
	if left, _ := filepath.Glob(filepath.Join(b.store.dir, stagingName, "fetch-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNewerVersionsAreAskedForNowAndThenAndDownloadNothingThatIsThere(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	start := time.Now()
	b.at(start)
	want := Want{Constraints: ">= 1.0"}
	b.must(want)
	b.publish("1.3.0")
	b.at(start.Add(Recent - time.Second))
	if got := b.must(want); got.Version != "1.2.3" || b.registry.Counts().Versions != 1 {
		t.Errorf("asked too early: %s %+v", got.Version, b.registry.Counts())
	}
	b.at(start.Add(Recent + time.Second))
	if got := b.must(want); got.Version != "1.3.0" || !got.Downloaded {
		t.Errorf("%+v", got)
	}
	b.at(start.Add(3 * Recent))
	if got := b.must(want); got.Version != "1.3.0" || got.Downloaded || b.registry.Counts().Versions != 3 || b.registry.Counts().Archives != 2 {
		t.Errorf("%s %+v", got.Version, b.registry.Counts())
	}
	if got := b.must(Want{Constraints: "1.2.3"}); got.Version != "1.2.3" || b.registry.Counts().Versions != 3 {
		t.Errorf("an exact version was asked for: %s %+v", got.Version, b.registry.Counts())
	}
}

func TestWhatTheRegistryGetsWrongIsRefused(t *testing.T) {
	for sentence, c := range map[string]struct {
		fault registrytest.Fault
		want  string
	}{
		"a tampered archive": {registrytest.Tampered, "incorrect checksum"},
		"a forged signature": {registrytest.Forged, "signature"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t).publish("1.2.3", c.fault)
			if _, err := b.get(Want{Version: "1.2.3"}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if list, err := List(b.store.dir); err != nil || len(list) > 0 {
				t.Errorf("stored: %+v %v", list, err)
			}
		})
	}
}

func TestLockFilesAreHeldAgainstWhatIsThere(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	h1 := b.must(Want{Version: "1.2.3"}).H1
	own, other := b.registry.Hashes(thing, "1.2.3")
	strange := "zh:" + strings.Repeat("ab", 32)
	for _, c := range []struct {
		sentence string
		version  string
		locked   []string
		refused  bool
		archives int // how often it is downloaded to make sure
	}{
		{"nothing locked", "1.2.3", nil, false, 0},
		{"the content", "1.2.3", []string{h1}, false, 0},
		{"the content of another platform, and all archives", "1.2.3", []string{"h1:" + strings.Repeat("A", 43) + "=", own, other}, false, 0},
		{"all archives", "1.2.3", []string{own, other}, false, 0},
		{"this platform's archive", "1.2.3", []string{own}, false, 1},
		{"this platform's archive, once more", "1.2.3", []string{own}, false, 0},
		{"another platform's archive", "1.2.3", []string{other}, true, 1},
		{"an archive that nobody published", "1.2.3", []string{strange}, true, 0},
		{"the content of something else", "1.2.3", []string{"h1:" + strings.Repeat("A", 43) + "="}, true, 0},
		{"another version's", "1.0.0", []string{strange}, false, 0},
	} {
		before := b.registry.Counts().Archives
		_, err := b.get(Want{Version: "1.2.3", LockedVersion: c.version, Locked: c.locked})
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.sentence, err)
		}
		if n := b.registry.Counts().Archives - before; n != c.archives {
			t.Errorf("%s: downloaded %d times, want %d", c.sentence, n, c.archives)
		}
	}
	_, err := b.get(Want{Version: "1.2.3", LockedVersion: "1.2.3", Locked: []string{strange}})
	if !mismatch(err) || !strings.Contains(err.Error(), strange) || !strings.Contains(err.Error(), h1) || !strings.Contains(err.Error(), "tofu providers lock -platform=") {
		t.Errorf("%v", err)
	}
}

func TestWhenNobodyAnswers(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	start := time.Now()
	b.at(start)
	want := Want{Address: b.address(), Constraints: "> 1"}
	b.must(want)
	b.registry.SetDown(true)
	b.at(start.Add(time.Hour))
	if got := b.must(Want{Version: "1.2.3"}); got.Downloaded {
		t.Errorf("%+v", got)
	}
	if _, err := b.get(want); err == nil {
		t.Error("somebody answered")
	}
	last := b.store.Scope("").Last(t.Context(), want, b.fetch)
	if last == nil || last.Version != "1.2.3" {
		t.Fatalf("the last answer: %+v", last)
	}
	last.Release()
	if last := b.store.Scope("").Last(t.Context(), Want{Address: want.Address, Constraints: "> 1, < 9"}, b.fetch); last != nil {
		t.Errorf("an answer that nobody gave: %+v", last)
	}
}

func TestScopesShareNothing(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	b.registry.RequireToken("t0ken")
	want := Want{Address: b.address(), Version: "1.2.3"}
	if _, err := b.store.Scope("").Get(t.Context(), want, b.fetch); err == nil {
		t.Fatal("no token was needed")
	}
	b.settings = "credentials \"" + b.registry.Host() + "\" {\n  token = \"t0ken\"\n}\n"
	mine := b.store.Scope(strings.Repeat("a", 64))
	got, err := mine.Get(t.Context(), want, b.fetch)
	if err != nil {
		t.Fatal(err)
	}
	got.Release()
	b.settings = ""
	for _, scope := range []*Scope{b.store.Scope(""), b.store.Scope(strings.Repeat("b", 64))} {
		if _, err := scope.Get(t.Context(), want, b.fetch); err == nil {
			t.Errorf("scope %s got what another one's token was good for", scope.Name)
		}
	}
}

// The work of one who is gone goes on for the others, and ends with the last.
func TestADownloadGoesOnForAsLongAsSomebodyWaits(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	resume := b.registry.Halt()
	defer resume()
	want := Want{Address: b.address(), Version: "1.2.3"}
	ask := func() (context.CancelFunc, chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			got, err := b.store.Scope("").Get(ctx, want, b.fetch)
			got.Release()
			done <- err
		}()
		return cancel, done
	}
	waiting := func(n int) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			found := b.store.flights.Waiting()
			if found == n && (n == 0 || b.registry.Counts().Archives > 0) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d wait, want %d", found, n)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	leave, left := ask()
	waiting(1)
	_, stays := ask()
	waiting(2)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	resume()
	if err := <-stays; err != nil || b.registry.Counts().Archives != 1 {
		t.Errorf("%v, %+v", err, b.registry.Counts())
	}
	b.publish("1.3.0")
	resume = b.registry.Halt()
	defer resume()
	want.Version = "1.3.0"
	leave, left = ask()
	waiting(1)
	leave()
	<-left
	waiting(0)
	deadline := time.Now().Add(time.Minute)
	for {
		rests, _ := filepath.Glob(filepath.Join(b.store.dir, stagingName, "fetch-*"))
		if len(rests) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a download that nobody waits for has left %v", rests)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAMistakeInADownloadEndsTheDownloadAlone(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = s.once(t.Context(), "key", func(context.Context) error { panic("a mistake") })
	if err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Errorf("%v", err)
	}
	if err := s.once(t.Context(), "key", func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
