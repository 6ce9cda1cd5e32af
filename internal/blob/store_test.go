// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
)

// The conformance suite: what every kind of store promises. A cloud's bucket is tested through
// gocloud's memory driver.

func stores(t *testing.T, test func(t *testing.T, store *Store)) {
	for name, url := range map[string]func(t *testing.T) string{
		"directory": func(t *testing.T) string { return "file://" + t.TempDir() + "/blobs?create_dir=1" },
		"cloud":     func(*testing.T) string { return "mem://" },
	} {
		t.Run(name, func(t *testing.T) { test(t, openStore(t, url(t), newIdentity(t))) })
	}
}

func openStore(t testing.TB, url string, identity *age.X25519Identity) *Store {
	t.Helper()
	store, err := Open(t.Context(), url, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func newIdentity(t testing.TB) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func put(t testing.TB, store *Store, key, content string) {
	t.Helper()
	if err := store.PutBytes(t.Context(), key, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, store *Store, key string) string {
	t.Helper()
	data, err := store.Get(t.Context(), key, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWhatWasPutIsRead(t *testing.T) {
	chunk := 64 << 10 // age's
	stores(t, func(t *testing.T, store *Store) {
		for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 17} {
			content := make([]byte, size)
			rand.NewChaCha8([32]byte{byte(size)}).Read(content)
			if err := store.Put(t.Context(), "some/blob", iotest.HalfReader(bytes.NewReader(content))); err != nil {
				t.Fatal(err)
			}
			if got := get(t, store, "some/blob"); got != string(content) {
				t.Errorf("%d bytes: other content came back (%d bytes)", size, len(got))
			}
		}
	})
}

func TestPutReplacesTheWholeBlob(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "a", strings.Repeat("long", 1000))
		reader, err := store.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		put(t, store, "a", "short")
		if got := get(t, store, "a"); got != "short" {
			t.Errorf("got %.20q", got)
		}
		if old, err := io.ReadAll(reader); err != nil || string(old) != strings.Repeat("long", 1000) {
			t.Errorf("a reader opened before sees %.20q, %v", old, err)
		}
	})
}

func TestAFailedPutLeavesWhatWasThere(t *testing.T) {
	broken := errors.New("cable cut")
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "a", "before")
		half := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken))
		if err := store.Put(t.Context(), "a", half); !errors.Is(err, broken) {
			t.Errorf("got error %v, want the reader's", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(broken)
		if err := store.PutBytes(ctx, "a", []byte("after")); !errors.Is(err, broken) {
			t.Errorf("got error %v, want the context's cause", err)
		}
		if got := get(t, store, "a"); got != "before" {
			t.Errorf("got %.20q", got)
		}
		wantKeys(t, store.List(t.Context(), ""), "a")
	})
}

func TestABlobThatIsNotThere(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "a/b/c", "x")
		for _, key := range []string{"none", "a", "a/b", "a/b/c/d"} {
			if _, err := store.Get(t.Context(), key, 10); !errors.Is(err, ErrNotFound) {
				t.Errorf("Get %s: %v", key, err)
			}
			if _, err := store.Open(t.Context(), key); !errors.Is(err, ErrNotFound) {
				t.Errorf("Open %s: %v", key, err)
			}
			if _, err := store.Stat(t.Context(), key); !errors.Is(err, ErrNotFound) {
				t.Errorf("Stat %s: %v", key, err)
			}
			if there, err := store.Exists(t.Context(), key); there || err != nil {
				t.Errorf("Exists %s: %v, %v", key, there, err)
			}
			if err := store.Delete(t.Context(), key); err != nil {
				t.Errorf("Delete %s: %v", key, err)
			}
			wantKeys(t, store.List(t.Context(), key+"/x"))
		}
		wantKeys(t, store.List(t.Context(), ""), "a/b/c")
	})
}

func TestGetStopsAtItsLimit(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "a", "12345")
		if got, err := store.Get(t.Context(), "a", 5); err != nil || string(got) != "12345" {
			t.Errorf("at the limit: %q, %v", got, err)
		}
		_, err := store.Get(t.Context(), "a", 4)
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) {
			t.Fatalf("above the limit: %v", err)
		}
		if diff := cmp.Diff(&TooLargeError{Key: "a", Limit: 4}, tooLarge); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADeletedBlobIsGone(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "runs/a/1", "x")
		put(t, store, "runs/a/2", "y")
		for _, key := range []string{"runs/a/1", "runs/a/1"} {
			if err := store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		wantKeys(t, store.List(t.Context(), "runs/"), "runs/a/2")
	})
}

func TestListYieldsThePrefixInByteOrder(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		// "a-b" sorts before "a/x": a walk that goes into "a" first gets it wrong.
		keys := []string{"a-b", "a.b", "a/w", "a/x-y/z", "a/x/y", "a0", "b/c/d", "b/ca"}
		for _, i := range rand.Perm(len(keys)) {
			put(t, store, keys[i], "x")
		}
		for prefix, want := range map[string][]string{
			"":      keys,
			"a":     keys[:6],
			"a/":    keys[2:5],
			"a/x":   keys[3:5],
			"a/x/":  {"a/x/y"},
			"b/c":   {"b/c/d", "b/ca"},
			"none":  nil,
			"none/": nil,
		} {
			wantKeys(t, store.List(t.Context(), prefix), want...)
		}
		for range store.List(t.Context(), "") {
			break // a caller may stop early
		}
	})
}

func TestListGivesSizesAndTimes(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		put(t, store, "a", "12345")
		want, err := store.Stat(t.Context(), "a")
		if err != nil || want.Size <= 5 || want.Modified.IsZero() {
			t.Fatalf("Stat: %+v, %v", want, err)
		}
		for info := range store.List(t.Context(), "a") {
			if diff := cmp.Diff(want, info); diff != "" {
				t.Errorf("List differs from Stat:\n%s", diff)
			}
		}
	})
}

func TestUnsafeKeysAreRefused(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		for _, key := range []string{
			"", "/", "/etc/passwd", "a/", "a//b", "..", "../a", "a/../b", "a/./b", ".tmp/a", ".recipient", "a/.b",
			"a\\b", "a\x00b", "a\nb", "a b", "a%2fb", "ä", "a?b", "a*",
			strings.Repeat("x", maxSegment+1), strings.Repeat("x/", maxKey/2) + "x",
		} {
			if err := store.PutBytes(t.Context(), key, nil); err == nil {
				t.Errorf("Put %q was not refused", key)
			}
			if _, err := store.Open(t.Context(), key); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("Open %q was not refused: %v", key, err)
			}
			if err := store.Delete(t.Context(), key); err == nil {
				t.Errorf("Delete %q was not refused", key)
			}
		}
		for _, prefix := range []string{"/", "..", "../", "a/../", ".tmp/", "a//"} {
			for _, err := range store.List(t.Context(), prefix) {
				if err == nil {
					t.Errorf("List %q was not refused", prefix)
				}
			}
		}
		wantKeys(t, store.List(t.Context(), ""))
	})
}

func wantKeys(t *testing.T, list iter.Seq2[Info, error], want ...string) {
	t.Helper()
	var got []string
	for info, err := range list {
		if err != nil {
			t.Error(err)
		}
		got = append(got, info.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func BenchmarkPut4KiB(b *testing.B) {
	store := openStore(b, "file://"+b.TempDir(), newIdentity(b))
	data := make([]byte, 4<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := store.PutBytes(b.Context(), "a/b/c", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet4KiB(b *testing.B) {
	store := openStore(b, "file://"+b.TempDir(), newIdentity(b))
	if err := store.PutBytes(b.Context(), "a/b/c", make([]byte, 4<<10)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(4 << 10)
	for b.Loop() {
		if _, err := store.Get(b.Context(), "a/b/c", 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
