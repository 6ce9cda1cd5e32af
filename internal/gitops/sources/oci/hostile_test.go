// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"archive/tar"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// targz packs files in the given order: name, content, name, content.
func targz(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for i := 0; i < len(pairs); i += 2 {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Size: int64(len(pairs[i+1])), Mode: 0o644})
		if _, writing := io.WriteString(w, pairs[i+1]); errors.Join(err, writing) != nil {
			t.Fatal(err, writing)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pushLayers pushes an artifact with layers: media type, content, media type, content.
func pushLayers(t *testing.T, registry *ocitest.Registry, tag string, pairs ...string) v1.Hash {
	t.Helper()
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for i := 0; i < len(pairs); i += 2 {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{Layer: static.NewLayer([]byte(pairs[i+1]), types.MediaType(pairs[i]))})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pushImage(t, registry, tag, image)
}

func pushImage(t *testing.T, registry *ocitest.Registry, tag string, image v1.Image) v1.Hash {
	t.Helper()
	if err := crane.Push(image, registry.Host()+"/"+app+":"+tag, registry.Options()...); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

const layerType = "application/vnd.example.layer.v1.tar+gzip"

func TestSelectedLayers(t *testing.T) {
	registry := ocitest.New(t)
	first, second := targz(t, "a", "first"), targz(t, "a", "second")
	pushLayers(t, registry, "latest", layerType, string(first), "application/x.other+gzip", string(second), "application/x.text", "plain")
	for mediaType, want := range map[string]string{"": "first", layerType: "first", "application/x.other+gzip": "second"} {
		artifact := look(t, New(), wanted(registry, func(r *Repository) { r.MediaType = mediaType }), false)
		if diff := cmp.Diff(map[string]string{"a": want}, files(t, artifact)); diff != "" {
			t.Errorf("%s: %s", mediaType, diff)
		}
	}
	_, err := New().Look(t.Context(), wanted(registry, func(r *Repository) { r.MediaType = "application/x.missing" }), false)
	wantFailure(t, err, reasonLayer, false, "does not have a layer of the type 'application/x.missing' in spec.layerSelector; its first is of '"+layerType+"'")
	plain := look(t, New(), wanted(registry, func(r *Repository) { r.MediaType = "application/x.text" }), false)
	wantFailure(t, plain.Fetch(t.Context(), t.TempDir()), reasonLayer, false, "not a gzipped tar archive; spec.layerSelector")
	copied := look(t, New(), wanted(registry, func(r *Repository) { r.MediaType, r.Copy = "application/x.other+gzip", true }), false)
	packed, err := copied.Archive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if got, err := io.ReadAll(packed); err != nil || !bytes.Equal(got, second) {
		t.Errorf("the copy has %d bytes, want %d: %v", len(got), len(second), err)
	}
}

func TestTheManifestForLinuxOfAnIndexIsUsed(t *testing.T) {
	registry := ocitest.New(t)
	var children []mutate.IndexAddendum
	for _, platform := range []v1.Platform{{OS: "windows", Architecture: "amd64"}, {OS: "linux", Architecture: "amd64"}} {
		image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
			mutate.Addendum{Layer: static.NewLayer(targz(t, "os", platform.OS), layerType)})
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), children...)
	pushIndex(t, registry, index)
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	artifact := look(t, New(), wanted(registry, nil), false)
	if artifact.Revision != "latest@"+digest.String() || files(t, artifact)["os"] != "linux" {
		t.Errorf("%s", artifact.Revision)
	}
}

func TestARegistryThatLies(t *testing.T) {
	registry := ocitest.New(t)
	digest := pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "right")))
	wrong := targz(t, "a", "wrong")
	answer := func(what string, content []byte) faulttest.Fault {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, what) {
				return false
			}
			_, _ = w.Write(content)
			return true
		}
	}
	for sentence, c := range map[string]struct {
		fault   faulttest.Fault
		message string
	}{
		"another manifest":           {answer("/manifests/sha256:", []byte(`{"schemaVersion":2}`)), "the registry sent other content: its digest is sha256:"},
		"a manifest without end":     {answer("/manifests/sha256:", bytes.Repeat([]byte(" "), maxManifest+1)), "the size of the manifest in bytes exceeds the limit"},
		"a digest that is no digest": {lyingHead("sha256:../../../etc/passwd"), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			registry.SetFault(c.fault)
			artifact, err := New().Look(t.Context(), wanted(registry, nil), false)
			if c.message == "" {
				if err != nil || artifact.Revision != "latest@"+digest.String() {
					t.Errorf("the manifest was not read instead: %v", err)
				}
				return
			}
			wantFailure(t, err, reasonPull, false, c.message)
		})
	}
	registry.SetFault(nil)
	artifact := look(t, New(), wanted(registry, nil), false)
	for sentence, content := range map[string][]byte{
		"another layer": append(wrong[:len(wrong):len(wrong)], make([]byte, max(0, int(artifact.layer.Size)-len(wrong)))...)[:artifact.layer.Size],
		"a longer one":  append(targz(t, "a", "right"), bytes.Repeat([]byte("x"), 1<<20)...),
		"a shorter one": targz(t, "a", "right")[:20],
		"nothing":       nil,
	} {
		t.Run(sentence, func(t *testing.T) {
			registry.SetFault(answer("/blobs/", content))
			dir := filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			err := artifact.Fetch(t.Context(), dir)
			var failed *archive.FetchError
			if !errors.As(err, &failed) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("a part of the tree remains: %v %v", left, err)
			}
			if packed, err := artifact.Archive(t.Context()); err == nil {
				if _, err := io.ReadAll(packed); !errors.As(err, &failed) || failed.Reason != reasonPull {
					t.Errorf("the copy: %v", err)
				}
				packed.Close()
			}
		})
	}
}

// lyingHead answers with a wrong digest of a tag.
func lyingHead(digest string) faulttest.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Docker-Content-Digest", digest)
		return r.Method == http.MethodHead
	}
}

func TestTooLargeLayers(t *testing.T) {
	registry := ocitest.New(t)
	bomb := targz(t, "zeros", strings.Repeat("\x00", 64<<20))
	pushLayers(t, registry, "bomb", layerType, string(bomb))
	pushLayers(t, registry, "evil", layerType, string(targz(t, "../../evil", "x")))
	pushLayers(t, registry, "none")
	for sentence, c := range map[string]struct {
		tag     string
		limits  archive.Limits
		message string
	}{
		"a bomb":                  {"bomb", archive.Limits{}, "the expansion of the archive"},
		"more bytes than allowed": {"bomb", archive.Limits{MaxUnpacked: 1 << 20}, "the size of all files in bytes exceeds the limit of 1048576"},
		"a larger layer":          {"bomb", archive.Limits{MaxPacked: 1000}, "the size of the layer in bytes exceeds the limit of 1000"},
		"a path that leaves":      {"evil", archive.Limits{}, "the path leaves the directory"},
		"no layer at all":         {"none", archive.Limits{}, "has no layers"},
	} {
		t.Run(sentence, func(t *testing.T) {
			artifact, err := New().Look(t.Context(), wanted(registry, func(r *Repository) { r.Tag, r.Limits = c.tag, c.limits }), false)
			if err == nil {
				parent := t.TempDir()
				dir := filepath.Join(parent, "tree")
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				err = artifact.Fetch(t.Context(), dir)
				if left, _ := os.ReadDir(parent); len(left) != 1 {
					t.Errorf("files remain: %v", left)
				}
				wantFailure(t, err, reasonLayer, false, c.message)
				return
			}
			wantFailure(t, err, reasonLayer, false, c.message)
		})
	}
}

func TestTagsInPages(t *testing.T) {
	registry := ocitest.New(t)
	digest := registry.Push(t, app, "1.0.99", ocitest.Files{"a": "a"})
	page := func(link func(n int) string) faulttest.Fault {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/tags/list") {
				return false
			}
			n := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &n)
			if next := link(n); next != "" {
				w.Header().Set("Link", "<"+next+`>; rel="next"`)
			}
			fmt.Fprintf(w, `{"tags":["1.0.%d"]}`, n*33)
			return true
		}
	}
	inPages := wanted(registry, func(r *Repository) { r.SemVer = "1.x" })
	for sentence, c := range map[string]struct {
		link    func(n int) string
		message string
	}{
		"all pages count": {func(n int) string {
			if n == 3 {
				return ""
			}
			return fmt.Sprintf("/v2/%s/tags/list?page=%d", app, n+1)
		}, ""},
		"pages without end":    {func(n int) string { return fmt.Sprintf("?page=%d", n+1) }, "the number of pages of tags exceeds the limit"},
		"a page elsewhere":     {func(int) string { return "http://169.254.169.254/latest" }, "another server"},
		"a page that is wrong": {func(int) string { return "http://[::1" }, "response is invalid"},
	} {
		registry.SetFault(page(c.link))
		artifact, err := New().Look(t.Context(), inPages, false)
		if c.message != "" {
			wantFailure(t, err, reasonRead, false, c.message)
		} else if err != nil || artifact.Revision != "1.0.99@"+digest {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	registry.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") {
			return false
		}
		_, _ = io.Copy(w, io.MultiReader(strings.NewReader(`{"tags":["`), strings.NewReader(strings.Repeat("x", maxAnswer))))
		return true
	})
	_, err := New().Look(t.Context(), inPages, false)
	wantFailure(t, err, reasonRead, false, "the size of a response in bytes")
}

func TestTooManyAnnotations(t *testing.T) {
	registry := ocitest.New(t)
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: static.NewLayer(targz(t, "a", "a"), layerType)})
	if err != nil {
		t.Fatal(err)
	}
	annotated, ok := mutate.Annotations(image, map[string]string{
		"large": strings.Repeat("x", maxMetadata), "org.opencontainers.image.source": "https://example.com",
	}).(v1.Image)
	if !ok {
		t.Fatal("the artifact is not an image")
	}
	pushImage(t, registry, "latest", annotated)
	client := New()
	artifact := look(t, client, wanted(registry, nil), false)
	if diff := cmp.Diff(map[string]string{"org.opencontainers.image.source": "https://example.com"}, artifact.Metadata); diff != "" {
		t.Error(diff)
	}
	registry.Reset()
	look(t, client, wanted(registry, nil), false)
	if registry.Counts(app).Manifests == 0 {
		t.Error("a manifest of this size is remembered")
	}
}
