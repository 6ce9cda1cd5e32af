// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push pushes the images of a layout, and the artifacts that refer to them. An empty repository is
// the one that the images are named after.
func push(ctx context.Context, from, repository string, answer io.Writer) error {
	index, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return fmt.Errorf("read the images: %w. Build them:\n    make image", err)
	}
	top, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range top.Manifests {
		full, ok := d.Annotations[nameAnnotation]
		if !ok {
			continue
		}
		if repository != "" {
			full = repository + "/" + path.Base(full)
		}
		if err := pushImage(ctx, index, d.Digest, full); err != nil {
			return fmt.Errorf("push %s: %w", full, err)
		}
		fmt.Fprintf(answer, "%s@%s\n", full, d.Digest)
	}
	return nil
}

// pushImage pushes an image with all platforms, and what refers to them.
func pushImage(ctx context.Context, from v1.ImageIndex, digest v1.Hash, full string) error {
	tag, err := name.NewTag(full)
	if err != nil {
		return err
	}
	image, err := from.ImageIndex(digest)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(tag, image, options...); err != nil {
		return err
	}
	artifacts, err := referrers(from, image)
	if err != nil {
		return err
	}
	for digest, a := range artifacts {
		if err := remote.Write(tag.Context().Digest(digest.String()), a, options...); err != nil {
			return fmt.Errorf("push a bill of materials: %w", err)
		}
	}
	return nil
}

// referrers are the artifacts of a layout that refer to a platform of an image.
func referrers(from, image v1.ImageIndex) (map[v1.Hash]v1.Image, error) {
	platforms, err := image.IndexManifest()
	if err != nil {
		return nil, err
	}
	known := map[v1.Hash]bool{}
	for _, d := range platforms.Manifests {
		known[d.Digest] = true
	}
	top, err := from.IndexManifest()
	if err != nil {
		return nil, err
	}
	found := map[v1.Hash]v1.Image{}
	for _, d := range top.Manifests {
		if !d.MediaType.IsImage() {
			continue
		}
		a, err := from.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		manifest, err := a.Manifest()
		if err != nil {
			return nil, err
		}
		if manifest.Subject != nil && known[manifest.Subject.Digest] {
			found[d.Digest] = a
		}
	}
	return found, nil
}
