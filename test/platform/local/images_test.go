// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// tag is that of the images in this test; "make test-platform" builds them.
const tag = "v0.0.0-test"

// archiveOfImages writes what a machine without a registry needs: the images of Yuba, the runner's with the providers of the
// modules in it.
func archiveOfImages(t *testing.T) (dir string) {
	t.Helper()
	if *images == "" {
		t.Fatal("this test needs the images of Yuba. Run it with\n    make test-platform")
	}
	path, err := layout.FromPath(*images)
	if err != nil {
		t.Fatal(err)
	}
	all := map[name.Reference]v1.Image{}
	for _, repository := range []string{"ghcr.io/yuba-dev/yuba", "ghcr.io/yuba-dev/yuba-runner"} {
		ref, err := name.NewTag(repository + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		all[ref] = imageOf(t, path, ref.String())
		if repository == "ghcr.io/yuba-dev/yuba-runner" {
			all[ref] = withProviders(t, all[ref])
		}
	}
	dir = t.TempDir()
	if err := tarball.MultiRefWriteToFile(filepath.Join(dir, "yuba.tar"), all); err != nil {
		t.Fatal(err)
	}
	return dir
}

// imageOf finds an image of this platform in a layout; there is no other one.
func imageOf(t *testing.T, path layout.Path, ref string) v1.Image {
	t.Helper()
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		if d.Annotations["io.containerd.image.name"] != ref {
			continue
		}
		inner, err := index.ImageIndex(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		platforms, err := inner.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		image, err := inner.Image(platforms.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	t.Fatalf("%s has no image %s", *images, ref)
	return nil
}

// withProviders adds the providers to an image, at the place where tofu looks for them without a network.
func withProviders(t *testing.T, image v1.Image) v1.Image {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	root := os.DirFS(*providers)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := root.Open(path)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // it was only read
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: "usr/share/terraform/plugins/" + path, Mode: 0o755, Size: info.Size()}); err != nil {
			return err
		}
		_, err = io.Copy(w, file)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil })
	if err == nil {
		image, err = mutate.AppendLayers(image, layer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return image
}
