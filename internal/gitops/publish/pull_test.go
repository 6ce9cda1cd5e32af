// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

func TestArtifactsOfFluxArePulled(t *testing.T) {
	registry := ocitest.New(t)
	digest := registry.PushTree(t, "app", "1.0.0", tree(t, program))
	out := filepath.Join(t.TempDir(), "deep", "out")
	got, err := Pull(context.Background(), registry.URL("app")+":1.0.0", out, Access{})
	if err != nil {
		t.Fatal(err)
	}
	want := Artifact{URL: registry.URL("app") + ":1.0.0", Digest: digest, Source: "https://example.com/app",
		Revision: "1.0.0@sha1:0000000000000000000000000000000000000000", Created: "1970-01-01T00:00:00Z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(program, contents(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestExistingFilesStay(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, "app", "1", ocitest.Files{"main.tf": "theirs"})
	mine := tree(t, map[string]string{"main.tf": "mine"})
	_, err := Pull(context.Background(), registry.URL("app")+":1", mine, Access{})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"main.tf": "mine"}, contents(t, mine)); diff != "" {
		t.Error(diff)
	}
	if _, err := Pull(context.Background(), registry.URL("app")+":1", filepath.Join(mine, "main.tf"), Access{}); err == nil {
		t.Error("a file was accepted as a directory")
	}
	if _, err := Pull(context.Background(), registry.URL("app")+":2", t.TempDir(), Access{}); !IsNotFound(err) {
		t.Errorf("a missing artifact: %v", err)
	}
}

// put pushes an artifact with an unchanged layer.
func put(t *testing.T, registry *ocitest.Registry, layer []byte) {
	t.Helper()
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(layer, oci.CanonicalContentMediaType))
	if err == nil {
		err = crane.Push(image, registry.Host()+"/app:1", registry.Options()...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, h := range headers {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArtifacts(t *testing.T) {
	for name, c := range map[string]struct {
		layer []byte
		want  string
	}{
		"a path that leaves the directory": {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "../evil"}), "leaves the directory"},
		"an absolute path":                 {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "/etc/evil"}), "absolute"},
		"a link that leaves the directory": {packed(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "../../etc"}), "leaves the directory"},
		"a bomb":                           {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: 64 << 20}), "limit"},
		"no archive":                       {[]byte("kind: ConfigMap"), "archive"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := ocitest.New(t)
			put(t, registry, c.layer)
			above := t.TempDir()
			_, err := Pull(context.Background(), registry.URL("app")+":1", filepath.Join(above, "out"), Access{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
			if left, _ := os.ReadDir(above); len(left) > 0 {
				t.Errorf("files remain: %v", left)
			}
		})
	}
}

func TestALayerWithAnotherDigest(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, "app", "1", ocitest.Files{"main.tf": "# the real one"})
	other := packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "main.tf", Size: 3})
	registry.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		_, err := w.Write(other)
		return err == nil
	})
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Pull(context.Background(), registry.URL("app")+":1", out, Access{}); err == nil {
		t.Error("the layer was accepted")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("files appeared before their verification")
	}
}
