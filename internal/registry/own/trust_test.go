// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// plant writes the files of a release into the bucket, as another program does.
func (w *world) plant(v layout.ProviderVersion, files map[string][]byte) {
	w.t.Helper()
	for name, data := range files {
		path := filepath.Join(w.dir, v.Key(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestWhatAnotherProgramPublishedIsVerified(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.log = slog.New(slog.NewTextHandler(&log, nil))
	w.plant(one, w.files(one, "linux_amd64"))
	two := layout.ProviderVersion{Provider: thing, Version: "2.0.0"}
	files := w.files(two, "linux_amd64")
	w.plant(two, w.sign(two, files, registrytest.NewSigner(t, w.now.Add(-time.Hour), 0)))
	// A program that writes to the bucket can write our record, too.
	three := layout.ProviderVersion{Provider: thing, Version: "3.0.0"}
	if _, _, err := w.publish(three, w.files(three, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(filepath.Join(w.dir, three.OwnKey()))
	if err != nil {
		t.Fatal(err)
	}
	changed := w.sign(three, map[string][]byte{three.Archive(linux): registrytest.Zip(t, registrytest.Program("thing", "evil"))}, registrytest.NewSigner(t, w.now.Add(-time.Hour), 0))
	w.plant(three, changed)
	stored, err := w.loadStored(t.Context(), three)
	if err != nil {
		t.Fatal(err)
	}
	record = bytes.Replace(record, []byte(stored.Sums), []byte(sumOf(changed[three.Sums()])), 1)
	if err := os.WriteFile(filepath.Join(w.dir, three.OwnKey()), record, 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.log = slog.New(slog.NewTextHandler(&log, nil))
	list, err := w.Versions(t.Context(), thing)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, v := range list {
		r, err := w.Release(t.Context(), layout.ProviderVersion{Provider: thing, Version: v.Version})
		if verified := v.Version == "1.0.0"; err != nil || (v.Unverified == "") != verified || r.Unverified != v.Unverified {
			t.Errorf("%+v, %v", v, err)
		}
		done, err := w.Describe(t.Context(), layout.ProviderVersion{Provider: thing, Version: v.Version})
		if err != nil || (done.Signer == "") != (v.Unverified != "") || done.Foreign != (v.Version != "3.0.0") {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if n := strings.Count(log.String(), "is not verified, and the mirror does not offer it"); n != 2 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
}

// Servers that share a bucket serve the same keys, at the latest after the next listing.
func TestKeysThatOneServerChangesReachTheOthers(t *testing.T) {
	w := newWorld(t)
	two := layout.ProviderVersion{Provider: thing, Version: "2.0.0"}
	if _, _, err := w.publish(one, w.files(one, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	w.plant(two, w.files(two, "linux_amd64"))
	other := *w
	other.restart()
	for _, v := range []layout.ProviderVersion{one, two} {
		if r, err := other.Release(t.Context(), v); err != nil || r.Unverified != "" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	three := layout.ProviderVersion{Provider: thing, Version: "3.0.0"}
	next := w.files(three, "linux_amd64") // a revoked key cannot sign
	if _, err := w.AddKey(t.Context(), "acme", []byte(w.signer.Revoke(t))); err != nil {
		t.Fatal(err)
	}
	if err := other.refresh(t.Context()); err != nil || refreshInterval >= time.Minute {
		t.Fatal(err)
	}
	for _, v := range []layout.ProviderVersion{one, two} {
		if r, err := other.Release(t.Context(), v); err != nil || !strings.Contains(r.Unverified, "revoked key") {
			t.Errorf("revoked: %s: %+v, %v", v, r, err)
		}
	}
	if _, err := w.RemoveKey(t.Context(), "acme", w.signer.ID()); err != nil {
		t.Fatal(err)
	}
	if err := other.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := other.Release(t.Context(), two); err != nil || !strings.Contains(r.Unverified, "there are none") || len(r.Keys) > 0 {
		t.Errorf("removed: %+v, %v", r, err)
	}
	if _, _, err := other.publish(three, next); err == nil {
		t.Error("a removed key was accepted")
	}
}
