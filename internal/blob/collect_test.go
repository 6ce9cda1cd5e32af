// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func putArtifact(t *testing.T, store *Store, content string) string {
	t.Helper()
	digest, _, err := store.PutArtifact(t.Context(), strings.NewReader(content), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// forgetUses makes the store one that was opened just now.
func forgetUses(store *Store) { store.uses.forget(time.Now().Add(time.Hour)) }

// waitUntilOld returns when a file that is written is newer than all before. The clock of files is
// behind the other one.
func waitUntilOld(t *testing.T) {
	t.Helper()
	probe, began := filepath.Join(t.TempDir(), "probe"), time.Now()
	for deadline := began.Add(time.Minute); ; {
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(probe)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().After(began) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("files are written at %s, after %s", info.ModTime(), began)
		}
	}
}

func TestCollectingKeepsWhatIsReferredToOrWasUsedLately(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		referred, unused, opened, looked, again := putArtifact(t, store, "referred"), putArtifact(t, store, "unused"), putArtifact(t, store, "opened"), putArtifact(t, store, "looked"), putArtifact(t, store, "again")
		if err := store.PutBytes(t.Context(), "runs/x", []byte("no artifact")); err != nil {
			t.Fatal(err)
		}
		isReferred := func(digest string) bool { return digest == referred }
		done, err := store.CollectArtifacts(t.Context(), isReferred, time.Now().Add(-time.Hour))
		if diff := cmp.Diff(Collected{Kept: 5}, done); diff != "" || err != nil {
			t.Fatal("what was written just now is kept", diff, err)
		}
		// From here on what was written is old, and uses are not.
		waitUntilOld(t)
		forgetUses(store)
		before := time.Now()
		if r, err := store.OpenArtifact(t.Context(), opened); err != nil || r.Close() != nil {
			t.Fatal(err)
		}
		if ok, err := store.HasArtifact(t.Context(), looked); err != nil || !ok {
			t.Fatal(ok, err)
		}
		putArtifact(t, store, "again")
		done, err = store.CollectArtifacts(t.Context(), isReferred, before)
		done.Bytes = 0
		if diff := cmp.Diff(Collected{Kept: 4, Deleted: 1}, done); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
		for digest, want := range map[string]bool{referred: true, unused: false, opened: true, looked: true, again: true} {
			if has, err := store.HasArtifact(t.Context(), digest); err != nil || has != want {
				t.Errorf("%s is there: %v, %v", digest, has, err)
			}
		}
		if ok, err := store.Exists(t.Context(), "runs/x"); err != nil || !ok {
			t.Error("what is no artifact went, too", err)
		}
	})
}

// Whoever finds that what they store is there already may rely on it from then on.
func TestNoArtifactGoesBetweenBeingStoredAndBeingReferredTo(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		putArtifact(t, store, "content")
		waitUntilOld(t)
		forgetUses(store)
		// It is stored again when the collection has already looked who refers to it.
		asked := false
		done, err := store.CollectArtifacts(t.Context(), func(string) bool {
			putArtifact(t, store, "content")
			asked = true
			return false
		}, time.Now())
		if diff := cmp.Diff(Collected{Kept: 1}, done); diff != "" || err != nil || !asked {
			t.Fatal(diff, err, asked)
		}
	})
}

// Whoever stores what is being deleted at that moment waits for that and stores it anew.
func TestWhatIsStoredWhileItIsDeletedIsThereAfterwards(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		digest := putArtifact(t, store, "content")
		key, err := ArtifactKey(digest)
		if err != nil {
			t.Fatal(err)
		}
		stored := make(chan error, 1)
		removed, err := store.uses.removeUnused(digest, time.Now(), func() error {
			go func() {
				_, _, err := store.PutArtifact(t.Context(), strings.NewReader("content"), 1000)
				stored <- err
			}()
			return store.Delete(t.Context(), key)
		})
		if err := errors.Join(err, <-stored); err != nil || !removed {
			t.Fatal(removed, err)
		}
		if err := store.VerifyArtifact(t.Context(), digest); err != nil {
			t.Fatal(err)
		}
	})
}
