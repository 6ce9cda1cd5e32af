// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestPushedImagesHaveTheirBills(t *testing.T) {
	dir, answer := write(t, time.Now(), amd64, arm64)
	for sentence, api := range map[string]bool{"to a registry that lists referrers": true, "to an older registry": false} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(api)))
			defer server.Close()
			repository := strings.TrimPrefix(server.URL, "http://") + "/team"
			var said strings.Builder
			if err := run(t.Context(), []string{"push", "-from", dir, "-to", repository}, &said, io.Discard); err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(answer, "registry.example.com/yuba/", repository+"/"); said.String() != want {
				t.Errorf("got %q, want %q", said.String(), want)
			}
			for line := range strings.Lines(said.String()) {
				checkPushed(t, strings.TrimSpace(line))
			}
		})
	}
}

// checkPushed checks an image that is named as TAG@DIGEST.
func checkPushed(t *testing.T, full string) {
	t.Helper()
	tagged, digest, _ := strings.Cut(full, "@")
	tag, err := name.NewTag(tagged)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Errorf("%s: got %s, %v", full, got, err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		list, err := remote.Referrers(tag.Context().Digest(d.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		found, err := list.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Manifests) != 1 {
			t.Fatalf("%s for %s has the referrers %v", full, d.Platform, found.Manifests)
		}
		bill, err := remote.Image(tag.Context().Digest(found.Manifests[0].Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := bill.Manifest(); err != nil || m.ArtifactType != billType || len(m.Layers) != 1 {
			t.Errorf("%s for %s has the bill of materials %v, %v", full, d.Platform, m, err)
		}
	}
}

func TestPushWithoutImagesSaysHowToBuildThem(t *testing.T) {
	err := run(t.Context(), []string{"push", "-from", filepath.Join(t.TempDir(), "missing")}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "\n    make image") {
		t.Errorf("got %v", err)
	}
}
