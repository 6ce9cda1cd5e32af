// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob/fileblob"
)

func TestABlobIsRecoveredWithAgeAlone(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "keys", "blob.agekey")
	identity, err := LoadOrCreateKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, "file://"+dir+"/blobs", identity)
	put(t, store, "states/team-a/vpc/1", "the only copy")

	// From here on as `age -d -i keys/blob.agekey blobs/states/team-a/vpc/1` does it.
	keyText, err := os.Open(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	defer keyText.Close()
	identities, err := age.ParseIdentities(keyText)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := os.ReadFile(filepath.Join(dir, "blobs/states/team-a/vpc/1"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("only copy")) {
		t.Error("the blob lies in the clear")
	}
	content, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(content); err != nil || string(got) != "the only copy" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFilesLieAsGocloudsFileDriverLaysThem(t *testing.T) {
	dir := t.TempDir()
	put(t, openStore(t, "file://"+dir, newIdentity(t)), "a/b-c/d.json", "x")
	theirs, err := fileblob.OpenBucket(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if there, err := theirs.Exists(t.Context(), "a/b-c/d.json"); err != nil || !there {
		t.Errorf("not found: %v", err)
	}
}

func TestAnotherKeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, openStore(t, "file://"+dir, newIdentity(t)), "a", "x")
	_, err := Open(t.Context(), "file://"+dir, newIdentity(t))
	if err == nil || !strings.Contains(err.Error(), "Restore the key file") {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsAnErrorNotContent(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, "file://"+dir, newIdentity(t))
	damages := map[string]func(sealed []byte) []byte{
		"a flipped bit":    func(b []byte) []byte { b[len(b)-20] ^= 1; return b },
		"a cut":            func(b []byte) []byte { return b[:len(b)-100_000] },
		"a lost last byte": func(b []byte) []byte { return b[:len(b)-1] },
		"a lost header":    func(b []byte) []byte { return b[10:] },
		"nothing left":     func([]byte) []byte { return nil },
		"one byte more":    func(b []byte) []byte { return append(b, 0) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			put(t, store, "a", strings.Repeat("x", 200_000))
			file := filepath.Join(dir, "a")
			sealed, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(sealed), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = store.Get(t.Context(), "a", 1<<20)
			var broken *SealError
			if !errors.As(err, &broken) || broken.Key != "a" {
				t.Errorf("got %v, want a SealError", err)
			}
		})
	}
}

func TestSymbolicLinksDoNotLeaveTheDirectory(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	store := openStore(t, "file://"+dir, newIdentity(t))
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := store.PutBytes(t.Context(), "link/a", nil); err == nil {
		t.Error("a blob was written through the link")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestFilesOfACrashAreOutOfSightAndSweptLater(t *testing.T) {
	dir := t.TempDir()
	identity := newIdentity(t)
	store := openStore(t, "file://"+dir, identity)
	stranded, running := filepath.Join(dir, temporary, "stranded"), filepath.Join(dir, temporary, "running")
	for _, file := range []string{stranded, running} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantKeys(t, store.List(t.Context(), ""))
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(stranded, old, old); err != nil {
		t.Fatal(err)
	}
	openStore(t, "file://"+dir, identity)
	if _, err := os.Stat(stranded); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Errorf("a file that may be in use was removed: %v", err)
	}
}

func TestEmptyDirectoriesGoWhileOthersAreMade(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, "file://"+dir, newIdentity(t))
	var writers sync.WaitGroup
	for _, name := range []string{"x", "y", "z"} {
		writers.Go(func() {
			for range 100 {
				put(t, store, "deep/deeper/"+name, name)
				if err := store.Delete(t.Context(), "deep/deeper/"+name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if _, err := os.Stat(filepath.Join(dir, "deep")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory stays: %v", err)
	}
}

func TestNobodyElseMayLook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	put(t, openStore(t, "file://"+dir, newIdentity(t)), "a/b", "x")
	got := map[string]fs.FileMode{}
	for _, name := range []string{".", "a", "a/b"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = info.Mode().Perm()
	}
	if diff := cmp.Diff(map[string]fs.FileMode{".": 0o700, "a": 0o700, "a/b": 0o600}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongURLs(t *testing.T) {
	for url, want := range map[string]string{
		"file://relative/dir":         "expected an absolute path",
		"file:blobs":                  "expected an absolute path",
		"file:///tmp/x?colour=red":    `unknown parameter "colour"`,
		"unheard-of://bucket":         "unheard-of",
		"s3://u:secret@x\x7f/control": "invalid",
	} {
		_, err := Open(t.Context(), url, newIdentity(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
