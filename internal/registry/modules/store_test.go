// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// bench is a store whose time the test sets, and a fetcher that counts.
type bench struct {
	*Store
	t       *testing.T
	now     atomic.Int64
	fetched atomic.Int32
	// make fills the directory of a package.
	make func(dir string) error
}

func newBench(t *testing.T) *bench {
	store, err := Open(filepath.Join(t.TempDir(), "modules"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Store: store, t: t, make: func(dir string) error {
		return errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# main\n"), 0o644),
			os.WriteFile(filepath.Join(dir, "sub", "run.sh"), []byte("#!/bin/sh\n"), 0o755))
	}}
	b.now.Store(time.Now().UnixNano())
	store.Now = func() time.Time { return time.Unix(0, b.now.Load()) }
	return b
}

func (b *bench) wait(d time.Duration) { b.now.Add(int64(d)) }

func (b *bench) fetcher(call Call, version string) Fetcher {
	return func(_ context.Context, dir string) ([]Found, error) {
		b.fetched.Add(1)
		source := call.Source
		return []Found{{Call: call, FoundSource: source, FoundVersion: version, Package: "m", Dir: "."}}, b.make(filepath.Join(dir, "m"))
	}
}

func gitCall(ref string) Call {
	return Call{Tool: "tofu", Source: "git::https://example.com/x.git?ref=" + ref}
}

func (b *bench) get(c *Scope, call Call, version string, after time.Time) *Module {
	b.t.Helper()
	m, err := c.Get(b.t.Context(), Wish{Call: call, After: after, Fetch: b.fetcher(call, version)})
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// copied copies a module to a new directory.
func (b *bench) copied(m *Module, limit int64) (string, error) {
	b.t.Helper()
	dir := b.t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	_, err = m.CopyTo(b.t.Context(), root, "copy", limit)
	return filepath.Join(dir, "copy"), err
}

func TestWhatIsKnownForGood(t *testing.T) {
	registry := func(version string) Call { return Call{Tool: "tofu", Source: "x/y/z", Version: version} }
	for sentence, c := range map[string]struct {
		call    Call
		version string
		fixed   bool
	}{
		"a commit":               {gitCall(commit), "", true},
		"a short commit":         {gitCall(commit[:12]), "", false},
		"a branch":               {gitCall("main"), "", false},
		"two refs":               {gitCall(commit + "&ref=main"), "", false},
		"no ref":                 {Call{Source: "git::https://example.com/x.git"}, "", false},
		"an archive":             {Call{Source: "https://example.com/x.zip?ref=" + commit}, "", false},
		"one version":            {registry("1.2.3"), "1.2.3", true},
		"one version, with =":    {registry("= 1.2.3"), "1.2.3", true},
		"a range":                {registry("~> 1.2.3"), "1.2.3", false},
		"two constraints":        {registry("1.2.3, < 2.0.0"), "1.2.3", false},
		"part of a version":      {registry("1.2"), "1.2.0", false},
		"any version":            {registry(""), "1.2.3", false},
		"one version, not found": {registry("1.2.3"), "1.2.4", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t)
			scope := b.Scope("")
			first := b.get(scope, c.call, c.version, time.Time{})
			if !first.Downloaded || first.Fixed != c.fixed {
				t.Errorf("%+v", first)
			}
			b.wait(Recent - time.Second)
			if second := b.get(scope, c.call, c.version, time.Time{}); second.Downloaded || b.fetched.Load() != 1 {
				t.Errorf("asked again within %s", Recent)
			}
			b.wait(2 * time.Second)
			if third := b.get(scope, c.call, c.version, time.Time{}); third.Downloaded == c.fixed {
				t.Errorf("%+v after %s", third, Recent)
			}
			before := b.fetched.Load()
			if b.wait(time.Second); b.get(scope, c.call, c.version, b.Now().Add(-time.Millisecond)).Downloaded == c.fixed || c.fixed != (before == b.fetched.Load()) {
				t.Error("whoever has asked before gets the same, or does not")
			}
		})
	}
}

func TestWhichSourcesSuit(t *testing.T) {
	for source, want := range map[string]bool{
		"x/y/z": true, "example.com/x/y/z//sub": true, "github.com/a/b": true, "git@github.com:a/b.git?ref=v1": true, "https://example.com/x.zip": true,
		"git::ssh://git@example.com/x.git": true, "": false, "/srv/modules/x": false, "file:///srv/x": false, "git::file:///srv/x": false,
		"s3::https://s3.amazonaws.com/b/x.zip": false, "S3::https://b": false, "gcs::https://b": false, "oci://x/y": false, "~/x": false, "hg::http://x": false,
	} {
		if got := (Call{Source: source}).Suits(); got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}

func TestScopesShareNothing(t *testing.T) {
	b := newBench(t)
	for i, scope := range []*Scope{b.Scope(""), b.Scope("aa"), b.Scope("bb")} {
		for range 2 {
			b.get(scope, gitCall(commit), "", time.Time{})
			if got := int(b.fetched.Load()); got != i+1 {
				t.Errorf("%s: fetched %d times", scope.name, got)
			}
		}
	}
}

func TestACopyIsAsItWasFetched(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "secret")
	plain := b.make
	b.make = func(dir string) error {
		return errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), plain(dir), os.Symlink(outside, filepath.Join(dir, "out")), os.Symlink("sub/run.sh", filepath.Join(dir, "in")))
	}
	dir, err := b.copied(b.get(b.Scope(""), gitCall("v1"), "", time.Time{}), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"out": outside, "in": "sub/run.sh"} {
		if target, err := os.Readlink(filepath.Join(dir, name)); err != nil || target != want {
			t.Errorf("%s leads to %q, %v", name, target, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "sub", "run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	err = filepath.WalkDir(b.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "secret\n") || string(text) == "secret" {
			t.Errorf("what a link leads to is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := b.copied(b.get(b.Scope(""), gitCall("v1"), "", time.Time{}), 5); !errors.As(err, new(*TooLargeError)) {
		t.Errorf("more than there is room for: %v", err)
	}
}

func TestWhatIsNotKept(t *testing.T) {
	plain := newBench(t).make
	for sentence, make := range map[string]func(dir string) error{
		"a link to a directory of the machine": func(dir string) error { return os.Symlink(t.TempDir(), dir) },
		"a pipe": func(dir string) error {
			return errors.Join(plain(dir), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		},
		"a file that is too large": func(dir string) error {
			return errors.Join(plain(dir), os.WriteFile(filepath.Join(dir, "large"), nil, 0o600), os.Truncate(filepath.Join(dir, "large"), maxBytes+1))
		},
		"what the tool could not fetch": func(string) error { return errors.New("no") },
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t)
			b.make = make
			call := gitCall(commit)
			if m, err := b.Scope("").Get(t.Context(), Wish{Call: call, Fetch: b.fetcher(call, "")}); err == nil {
				t.Fatalf("%+v", m)
			}
			if left, err := filepath.Glob(filepath.Join(b.dir, "*", "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			_, err := b.Scope("").Get(t.Context(), Wish{Call: call, Fetch: b.fetcher(call, "")})
			if !errors.Is(err, ErrFailed) || b.fetched.Load() != 1 {
				t.Errorf("tried again at once: %v", err)
			}
			b.wait(failedFor + time.Second)
			b.make = plain
			b.get(b.Scope(""), call, "", time.Time{})
		})
	}
}

func TestWhatIsDamagedIsNeverUsed(t *testing.T) {
	for sentence, damage := range map[string]func(pkg, record, answer string) error{
		"another content": func(pkg, _, _ string) error {
			return os.WriteFile(filepath.Join(pkg, "main.tf"), []byte("# evil\n"), 0o600)
		},
		"a file that was cut":   func(pkg, _, _ string) error { return os.Truncate(filepath.Join(pkg, "main.tf"), 3) },
		"a file that is gone":   func(pkg, _, _ string) error { return os.Remove(filepath.Join(pkg, "sub", "run.sh")) },
		"a package that is":     func(pkg, _, _ string) error { return os.RemoveAll(pkg) },
		"a record that is":      func(_, record, _ string) error { return os.Remove(record) },
		"a record that was cut": func(_, record, _ string) error { return os.Truncate(record, 40) },
		"a record of more": func(_, record, _ string) error {
			text, err := os.ReadFile(record)
			return errors.Join(err, os.WriteFile(record, []byte(strings.Replace(string(text), `"entries":[`, `"entries":[{"name":"more","mode":2147484141},`, 1)), 0o600))
		},
		"an answer that was cut": func(_, _, answer string) error { return os.Truncate(answer, 40) },
		"a link in place of a file": func(pkg, _, _ string) error {
			name := filepath.Join(pkg, "main.tf")
			return errors.Join(os.Rename(name, pkg+".other"), os.Symlink(pkg+".other", name))
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t)
			scope, call := b.Scope(""), gitCall(commit)
			m := b.get(scope, call, "", time.Time{})
			if err := damage(scope.packagePath(m.Package), scope.recordPath(m.Package), scope.path(answersName, scope.Key(call))); err != nil {
				t.Fatal(err)
			}
			again := b.get(scope, call, "", time.Time{})
			dir, err := b.copied(again, 1<<20)
			if !again.Downloaded {
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("it was used: %v", err)
				}
				dir, err = b.copied(b.get(scope, call, "", time.Time{}), 1<<20)
			}
			text, readErr := os.ReadFile(filepath.Join(dir, "main.tf"))
			if err != nil || readErr != nil || string(text) != "# main\n" || b.fetched.Load() != 2 {
				t.Errorf("%v, %v: %s, fetched %d times", err, readErr, text, b.fetched.Load())
			}
		})
	}
}

func TestOneFetchesForAllWhoAsk(t *testing.T) {
	b := newBench(t)
	scope, call := b.Scope(""), gitCall("main")
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	slow := func(ctx context.Context, dir string) ([]Found, error) {
		begun <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return b.fetcher(call, "")(ctx, dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := scope.Get(ctx, Wish{Call: call, Fetch: slow})
		first <- err
	}()
	<-begun
	var group sync.WaitGroup
	var downloads atomic.Int32
	for range 9 {
		group.Go(func() {
			m, err := scope.Get(t.Context(), Wish{Call: call, Fetch: slow})
			if err != nil {
				t.Error(err)
			} else if m.Downloaded {
				downloads.Add(1)
			}
		})
	}
	b.waiting(10)
	cancel() // who began it is gone; the others wait on
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	group.Wait()
	if b.fetched.Load() != 1 || downloads.Load() != 0 {
		t.Errorf("fetched %d times, %d say so", b.fetched.Load(), downloads.Load())
	}
	if b.flights.Waiting() > 0 || len(begun) > 0 {
		t.Errorf("%d wait still, %d began", b.flights.Waiting(), len(begun))
	}
}

// waiting returns when so many wait.
func (b *bench) waiting(want int) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		if b.flights.Waiting() == want {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%d do not wait", want)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWhatIsCollected(t *testing.T) {
	b := newBench(t)
	scope := b.Scope("")
	content := func(i int) func(string) error {
		return func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.tf"), fmt.Appendf(nil, "# %02d\n", i), 0o600))
		}
	}
	versions := []string{"1.0.1", "1.0.2", "1.0.3", "1.0.4"}
	has := func(i int) bool {
		return scope.have(Call{Tool: "tofu", Source: "x/y/z", Version: versions[i]}, time.Time{}) != nil
	}
	for i, v := range versions {
		b.make = content(i)
		b.get(scope, Call{Tool: "tofu", Source: "x/y/z", Version: v}, v, time.Time{})
		b.wait(time.Minute)
	}
	if _, err := b.copied(b.get(scope, Call{Tool: "tofu", Source: "x/y/z", Version: versions[0]}, versions[0], time.Time{}), 1<<20); err != nil { // the first was used last
		t.Fatal(err)
	}
	limits := DefaultLimits()
	if done, err := b.Collect(limits); err != nil || done.Packages > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	limits.Bytes = 3 * 5
	if done, err := b.Collect(limits); err != nil || done != (Collected{1, 5}) || has(1) || !has(0) {
		t.Errorf("by bytes: %+v, %v", done, err)
	}
	limits = DefaultLimits()
	limits.Packages = 2
	if done, err := b.Collect(limits); err != nil || done.Packages != 1 || has(2) || !has(0) || !has(3) {
		t.Errorf("by number: %+v, %v", done, err)
	}
	limits = DefaultLimits()
	limits.Answers = 1
	if _, err := b.Collect(limits); err != nil || has(0) || !has(3) {
		t.Errorf("answers: %v", err)
	}
	rest := scope.packagePath(commit)
	abandoned := filepath.Join(b.dir, stagingName, "fetch-1")
	busy, err := b.staging().New()
	if err := errors.Join(err, os.MkdirAll(rest, 0o700), os.MkdirAll(abandoned, 0o700)); err != nil {
		t.Fatal(err)
	}
	defer busy.Remove()
	b.wait(31 * 24 * time.Hour)
	if done, err := b.Collect(DefaultLimits()); err != nil || done.Packages != 2 || has(3) {
		t.Errorf("by time: %+v, %v", done, err)
	}
	for _, path := range []string{rest, abandoned} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if _, err := os.Lstat(busy.Dir); err != nil {
		t.Errorf("what somebody is at work in is gone: %v", err)
	}
}
