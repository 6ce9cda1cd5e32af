// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// importVault gives the node an image of the program vault of test/vault, at its place in Vault's own image, with the shell that is
// there, too.
func (w *world) importVault(image string) {
	w.t.Helper()
	w.importImage(image, map[string]string{"bin/vault": filepath.Join(w.root, "bin", "vault")})
}

// importImage gives the node an image of a shell, some of its tools, further programs, by their names in the image, and a command.
func (w *world) importImage(image string, programs map[string]string, command ...string) {
	w.t.Helper()
	var content bytes.Buffer
	files := tar.NewWriter(&content)
	all := maps.Clone(programs)
	if all == nil {
		all = map[string]string{}
	}
	all["bin/busybox"] = "/bin/busybox"
	for name, from := range all {
		program, err := os.ReadFile(from)
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))})
		}
		if err == nil {
			_, err = files.Write(program)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "cat", "sha256sum", "sleep", "env", "httpd", "mkdir"} {
		if err := files.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o755}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		w.t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := result.ConfigFile()
	if err != nil {
		w.t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env, config.Config.Cmd = []string{"PATH=/bin"}, command
	if result, err = mutate.ConfigFile(result, config); err != nil {
		w.t.Fatal(err)
	}
	ref, err := name.NewTag(image)
	if err != nil {
		w.t.Fatal(err)
	}
	archive := filepath.Join(w.t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(archive, ref, result); err != nil {
		w.t.Fatal(err)
	}
	w.must("", "ctr", "--address", w.socket(), "--namespace", "k8s.io", "images", "import", archive)
}

// importYuba gives the node Yuba's images.
func (w *world) importYuba() {
	w.t.Helper()
	w.must("", "sh", "-c", `tar -C "$1" -cf - oci-layout index.json blobs | ctr --address "$2" --namespace k8s.io images import -`, "sh", *images, w.socket())
	w.say("Yuba's images are there")
}

// socket is that of the node's containerd.
func (w *world) socket() string { return filepath.Join(w.dir, "node", "containerd.sock") }
