// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// nameAnnotation has the full name of an image in a layout. containerd imports images under it.
const nameAnnotation = "io.containerd.image.name"

// write writes the layout and the bills of materials into a directory, and prints the names.
func (b *builder) write(dir string, all []built) error {
	if err := removeOutput(dir); err != nil {
		return err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	for _, i := range images {
		if err := b.writeIndex(to, i, all); err != nil {
			return fmt.Errorf("write image %s: %w", i.name, err)
		}
	}
	for _, one := range all {
		path := filepath.Join(dir, fmt.Sprintf("%s_%s_%s.spdx.json", one.image.name, one.platform.OS, one.platform.Arch))
		if err := errors.Join(to.AppendImage(one.artifact), os.WriteFile(path, one.bill, 0o644)); err != nil {
			return fmt.Errorf("write the bill of materials of %s: %w", one.image.name, err)
		}
	}
	return nil
}

// writeIndex writes an image with all platforms.
func (b *builder) writeIndex(to layout.Path, i image, all []built) error {
	var index v1.ImageIndex = empty.Index
	for _, one := range all {
		if one.image.name == i.name {
			at := ociPlatform(one.platform)
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one.Image, Descriptor: v1.Descriptor{Platform: &at}})
		}
	}
	index = mutate.Annotations(index, b.annotations(i)).(v1.ImageIndex)
	name := b.repository + "/" + i.name + ":" + b.version.Name
	err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{nameAnnotation: name, "org.opencontainers.image.ref.name": b.version.Name}))
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	fmt.Fprintf(b.answer, "%s@%s\n", name, digest)
	return err
}

// removeOutput removes earlier images.
func removeOutput(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.spdx.json"))
	for _, path := range append(old, filepath.Join(dir, "index.json"), filepath.Join(dir, "oci-layout"), filepath.Join(dir, "blobs")) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
