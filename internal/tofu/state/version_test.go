// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestAVersionSaysWhatItIs(t *testing.T) {
	f := newFixture(t)
	data := aState(5, "a")
	before := time.Now()
	written := f.write("run-1", Mark{}, data)
	if written.Time.Before(before) || written.Time.After(time.Now()) {
		t.Errorf("written at %s", written.Time)
	}
	want := Version{
		ID: formatID(written.Time, 5), Time: written.Time, Serial: 5, Lineage: "line", Digest: statefile.Digest(data),
		Size: int64(len(data)), RunID: "run-1", Reason: "apply",
	}
	read, content, err := f.ReadVersion(t.Context(), f.key, written.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []Version{written, read} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if !bytes.Equal(content, data) {
		t.Errorf("got %s", content)
	}
}

func TestAVersionIsRecoveredWithAgeAndGunzip(t *testing.T) {
	f := newFixture(t)
	data := aState(1, "the only copy")
	version := f.write("run", Mark{}, data)

	// age -d -i blob.agekey blobs/states/NAMESPACE/tfstate-default-vpc/VERSION | gunzip
	keyText, err := os.ReadFile(f.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(keyText))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := os.Open(filepath.Join(f.blobDir, "states", f.key.Namespace, "tfstate-default-vpc", version.ID))
	if err != nil {
		t.Fatal(err)
	}
	defer sealed.Close()
	compressed, err := age.Decrypt(sealed, identities...)
	if err != nil {
		t.Fatal(err)
	}
	content, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAVersionThatIsNotThere(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{formatID(time.Now(), 1), "1-1", "", "../../artifacts/x", "00000000000000000001"} {
		if _, _, err := f.ReadVersion(t.Context(), f.key, id); !errors.Is(err, ErrNoVersion) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestADamagedVersionIsSaidAndBlocksNothing(t *testing.T) {
	f := newFixture(t)
	first := f.write("run-1", Mark{}, aState(1, "a"))
	second := f.write("run-1", first.Mark(), aState(2, "b"))
	file := filepath.Join(f.blobDir, f.key.versionsPrefix(), second.ID)
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	f.write("run-2", second.Mark(), aState(3, "c"))
	var corrupt *CorruptError
	if _, _, err := f.ReadVersion(t.Context(), f.key, second.ID); !errors.As(err, &corrupt) {
		t.Errorf("read: %v", err)
	}
	var got []string
	for version, err := range f.Versions(t.Context(), f.key) {
		line := version.RunID
		if errors.As(err, &corrupt) && strings.Contains(corrupt.Where, second.ID) {
			line = "damaged"
		} else if err != nil {
			t.Error(err)
		}
		got = append(got, line)
	}
	// The state that version 2 had was in the Secret, and no intact version of it was stored: so it
	// was kept again.
	if diff := cmp.Diff([]string{"run-2", "", "damaged", "run-1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsKeepTheirOrderWhenTheClockGoesBack(t *testing.T) {
	f := newFixture(t)
	future := time.Now().Add(time.Hour)
	snapshot, err := newSnapshot(aState(1, "from the future"))
	if err != nil {
		t.Fatal(err)
	}
	early := Version{ID: formatID(future, 1), Time: future, Digest: snapshot.Digest, RunID: "run-1"}
	blobData, err := packVersion(early, snapshot.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.blobs.PutBytes(t.Context(), f.key.versionsPrefix()+early.ID, blobData); err != nil {
		t.Fatal(err)
	}
	f.write("run-2", Mark{Digest: "sha256:of another Secret"}, aState(2, "now"))
	f.wantHistory("2 run-2", "1 run-1")
}
