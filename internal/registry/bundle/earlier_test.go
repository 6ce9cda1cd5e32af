// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func there(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// The providers of an earlier attempt are those of a bundle only if it was for the same lock files, platforms and patterns.
func TestProvidersOfAnEarlierAttemptAreForTheSame(t *testing.T) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "zh:" + hex.EncodeToString(sum[:])
	}
	lock := func(version, of string) string {
		return "provider \"registry.opentofu.org/a/b\" {\n  version = \"" + version + "\"\n  hashes = [\"" + hash(of) + "\", \"" + hash("other") + "\"]\n}\n"
	}
	amd, arm := layout.Platform{OS: "linux", Arch: "amd64"}, layout.Platform{OS: "linux", Arch: "arm64"}
	canceled, cancel := context.WithCancel(t.Context())
	cancel() // nothing is fetched
	for sentence, test := range map[string]struct {
		change func(c *Content, locks *string)
		reused bool
	}{
		"the same":             {func(*Content, *string) {}, true},
		"in another order":     {func(c *Content, _ *string) { slices.Reverse(c.Platforms); slices.Reverse(c.Needs["c/d"]) }, true},
		"another version":      {func(_ *Content, text *string) { *text = lock("1.0.1", "x") }, false},
		"another hash":         {func(_ *Content, text *string) { *text = lock("1.0.0", "y") }, false},
		"fewer platforms":      {func(c *Content, _ *string) { c.Platforms = c.Platforms[:1] }, false},
		"other patterns":       {func(c *Content, _ *string) { c.Allow = nil }, false},
		"another constraint":   {func(c *Content, _ *string) { c.Needs["c/d"] = []string{"> 1.0.0"} }, false},
		"a module more":        {func(c *Content, _ *string) { c.Needs["e/f"] = nil }, false},
		"of an earlier server": {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			file, dir := filepath.Join(t.TempDir(), lockFile), filepath.Join(t.TempDir(), "parts")
			c := Content{LockFiles: []string{file}, Platforms: []layout.Platform{amd, arm}, Allow: []string{"registry.opentofu.org/*/*"}, Needs: map[string][]string{"c/d": {"> 2.0.0", "> 1.0.0"}}}
			text := lock("1.0.0", "x")
			collect := func() (told string, err error) {
				put(t, file, text)
				err = Collect(canceled, c, dir, func(format string, _ ...any) { told += format })
				return told, err
			}
			if _, err := collect(); !errors.Is(err, context.Canceled) || there(t, dir+wantsSuffix) {
				t.Fatalf("the first attempt: %v", err)
			}
			put(t, filepath.Join(dir, ProvidersFile), "providers")
			if test.change != nil {
				wants, err := c.wants(c.LockFiles)
				if err != nil {
					t.Fatal(err)
				}
				sum, err := c.sumOfWants(wants)
				if err != nil {
					t.Fatal(err)
				}
				put(t, dir+wantsSuffix, sum)
				test.change(&c, &text)
			}
			told, err := collect()
			if (err == nil) != test.reused || strings.Contains(told, "providers of an earlier attempt") != test.reused || there(t, filepath.Join(dir, ProvidersFile)) != test.reused {
				t.Errorf("told %q, %v", told, err)
			}
			if err := Remove(dir); err != nil || there(t, dir+wantsSuffix) || there(t, dir) {
				t.Errorf("it is not removed: %v", err)
			}
		})
	}
}

// A tag that has moved, an image and a release that are not asked for any more are not packed.
func TestABundleHasNoToolsAndImagesOfAnEarlierAttempt(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	defer server.Close()
	host, dir := strings.TrimPrefix(server.URL, "http://"), filepath.Join(t.TempDir(), "parts")
	push := func(text string) {
		t.Helper()
		image, err := random.Image(100, 2)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, image); err != nil {
			t.Fatal(err)
		}
	}
	collect := func(images ...string) {
		t.Helper()
		c := Content{Images: images, Platforms: []layout.Platform{{OS: "linux", Arch: "amd64"}}}
		if err := Collect(t.Context(), c, dir, func(string, ...any) {}); err != nil {
			t.Fatal(err)
		}
	}
	one, two := host+"/one:v1", host+"/two:v1"
	push(one)
	push(two)
	put(t, filepath.Join(dir, "tools", "tofu", "v1.0.0", "tofu_1.0.0_linux_amd64.zip"), "an older release")
	put(t, filepath.Join(dir, ProvidersFile), "of another attempt")
	collect(one, two)
	push(two)
	collect(two)
	index, err := ocilayout.ImageIndexFromPath(filepath.Join(dir, ImageDir))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations[refName] != two {
		t.Fatalf("%+v %v", manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := os.ReadDir(filepath.Join(dir, ImageDir, "blobs", "sha256"))
	if err != nil || len(blobs) != len(layers)+2 {
		t.Errorf("there are %d blobs, %v", len(blobs), err)
	}
	if there(t, filepath.Join(dir, "tools", "tofu", "v1.0.0", "tofu_1.0.0_linux_amd64.zip")) || there(t, filepath.Join(dir, ProvidersFile)) {
		t.Error("a release or providers of the earlier attempt are there")
	}
	collect()
	if there(t, filepath.Join(dir, ImageDir)) {
		t.Error("there are images still")
	}
}
