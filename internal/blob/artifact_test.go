// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnArtifactIsFoundByItsDigest(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		content := strings.Repeat("artifact", 20_000)
		want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
		for range 2 { // the second time changes nothing
			digest, size, err := store.PutArtifact(t.Context(), strings.NewReader(content), int64(len(content)))
			if err != nil || digest != want || size != int64(len(content)) {
				t.Fatalf("PutArtifact: %s, %d, %v; want %s", digest, size, err, want)
			}
		}
		reader, err := store.OpenArtifact(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if got, err := io.ReadAll(reader); err != nil || string(got) != content {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		wantKeys(t, store.List(t.Context(), ""), "artifacts/sha256/"+strings.TrimPrefix(want, "sha256:"))
	})
}

func TestAnArtifactAboveTheLimitIsNotStored(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		_, _, err := store.PutArtifact(t.Context(), strings.NewReader("12345"), 4)
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&TooLargeError{Key: "artifact", Limit: 4}, tooLarge); diff != "" {
			t.Error(diff)
		}
		wantKeys(t, store.List(t.Context(), ""))
	})
}

func TestAnExchangedArtifactIsAnErrorAtItsEndAndIsRepaired(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		digest, _, err := store.PutArtifact(t.Context(), strings.NewReader("right"), 100)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ArtifactKey(digest)
		if err != nil {
			t.Fatal(err)
		}
		put(t, store, key, "wrong")
		var damaged *DigestError
		if err := store.VerifyArtifact(t.Context(), digest); !errors.As(err, &damaged) || damaged.Want != digest {
			t.Errorf("reading it gave %v", err)
		}
		if _, _, err := store.PutArtifact(t.Context(), strings.NewReader("right"), 100); err != nil {
			t.Fatal(err)
		}
		if err := store.VerifyArtifact(t.Context(), digest); err != nil {
			t.Errorf("after storing it again: %v", err)
		}
	})
}

func TestDigestsAreChecked(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for digest, valid := range map[string]bool{
		"sha256:" + hex:                  true,
		hex:                              false,
		"sha512:" + hex:                  false,
		"sha256:" + hex[2:]:              false,
		"sha256:" + strings.ToUpper(hex): false,
		"sha256:../../" + hex[6:]:        false,
		"":                               false,
	} {
		if _, err := ArtifactKey(digest); (err == nil) != valid {
			t.Errorf("%q: %v", digest, err)
		}
	}
	store := openStore(t, "mem://", newIdentity(t))
	if _, err := store.OpenArtifact(t.Context(), "sha256:"+hex); !errors.Is(err, ErrNotFound) {
		t.Errorf("an artifact that is not there: %v", err)
	}
}
