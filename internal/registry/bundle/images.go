// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// refName is OCI's annotation with the reference of an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// images brings images to an OCI layout. Blobs that are there are not fetched again.
func (c Content) images(ctx context.Context, dir string, tell func(format string, args ...any)) error {
	if len(c.Images) == 0 {
		return nil
	}
	place := filepath.Join(dir, ImageDir)
	to, err := ocilayout.FromPath(place)
	if errors.Is(err, fs.ErrNotExist) {
		to, err = ocilayout.Write(place, empty.Index)
	}
	if err != nil {
		return err
	}
	for _, text := range slices.Sorted(slices.Values(c.Images)) {
		for _, p := range c.Platforms {
			if err := pull(ctx, to, text, v1.Platform{OS: p.OS, Architecture: p.Arch}); err != nil {
				return fmt.Errorf("bundle the image %s: %w", text, err)
			}
		}
		tell("image %s", text)
	}
	return nil
}

func pull(ctx context.Context, to ocilayout.Path, text string, platform v1.Platform) error {
	ref, err := name.ParseReference(text)
	if err != nil {
		return err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(platform), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	// Of one image for several platforms, each has an entry.
	same := func(d v1.Descriptor) bool { return d.Digest == digest && d.Annotations[refName] == ref.Name() }
	return to.ReplaceImage(image, same, ocilayout.WithAnnotations(map[string]string{refName: ref.Name()}), ocilayout.WithPlatform(platform))
}
