// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// busybox is the static program of Debian's busybox-static.
const busybox = "/bin/busybox"

// importPause gives containerd the image that holds a Pod's namespaces: a program that sleeps.
func importPause(ctx context.Context, dir string) error {
	err := importProgram(ctx, dir, pauseImage, busybox, "sleep", "infinity")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w. Install it:\n    tools/ensure-node", err)
	}
	return err
}

// importProgram gives containerd an image of a static program, which starts as start says.
func importProgram(ctx context.Context, dir, image, path string, start ...string) error {
	result, err := programImage(path, start)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(image)
	if err != nil {
		return err
	}
	archive := filepath.Join(dir, start[0]+".tar")
	if err := tarball.WriteToFile(archive, tag, result); err != nil {
		return err
	}
	defer os.Remove(archive) //nolint:errcheck // only disk space
	return command(ctx, "ctr", "--address", socket(dir), "--namespace", "k8s.io", "images", "import", archive)
}

// programImage is an image whose only file is a program.
func programImage(path string, start []string) (v1.Image, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	if err := w.WriteHeader(&tar.Header{Name: start[0], Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = append([]string{"/" + start[0]}, start[1:]...)
	return mutate.ConfigFile(image, config)
}
