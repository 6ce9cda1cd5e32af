// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// busybox is the static program of Debian's busybox-static.
const busybox = "/bin/busybox"

// importPause gives containerd the image that holds a Pod's namespaces: a program that sleeps.
func importPause(ctx context.Context, dir string) error {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return fmt.Errorf("%w. Install it:\n    tools/ensure-node", err)
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	if err := w.WriteHeader(&tar.Header{Name: "sleep", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return err
	}
	if _, err := w.Write(program); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromReader(&content)
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config.Entrypoint = []string{"/sleep", "infinity"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	tag, err := name.NewTag(pauseImage)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "pause.tar")
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		return err
	}
	return command(ctx, "ctr", "--address", socket(dir), "--namespace", "k8s.io", "images", "import", path)
}
