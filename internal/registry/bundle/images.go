// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// images brings images to an OCI layout. Blobs that are there are not fetched again. What an earlier attempt left there for other
// images, or for a tag that has moved since, is removed.
func (c Content) images(ctx context.Context, dir string, tell func(format string, args ...any)) error {
	place := filepath.Join(dir, ImageDir)
	if len(c.Images) == 0 {
		return os.RemoveAll(place)
	}
	to, err := ocilayout.FromPath(place)
	if errors.Is(err, fs.ErrNotExist) {
		to, err = ocilayout.Write(place, empty.Index)
	}
	if err != nil {
		return err
	}
	entries, wanted := map[entry]bool{}, map[string]bool{"oci-layout": true, "index.json": true}
	for _, text := range slices.Sorted(slices.Values(c.Images)) {
		for _, p := range c.Platforms {
			is, blobs, err := pull(ctx, to, text, v1.Platform{OS: p.OS, Architecture: p.Arch})
			if err != nil {
				return fmt.Errorf("bundle the image %s: %w", text, err)
			}
			entries[is] = true
			for _, h := range blobs {
				wanted["blobs/"+h.Algorithm+"/"+h.Hex] = true
			}
		}
		tell("image %s", text)
	}
	if err := to.RemoveDescriptors(func(d v1.Descriptor) bool { return !entries[entry{d.Annotations[refName], d.Digest}] }); err != nil {
		return fmt.Errorf("remove the images of an earlier attempt: %w", err)
	}
	if err := keepOnly(place, wanted); err != nil {
		return fmt.Errorf("remove the images of an earlier attempt: %w", err)
	}
	return nil
}

// entry is an image in the index of a layout.
type entry struct {
	ref    string
	digest v1.Hash
}

// pull brings an image to a layout, and returns its entry and its blobs there.
func pull(ctx context.Context, to ocilayout.Path, text string, platform v1.Platform) (is entry, blobs []v1.Hash, err error) {
	ref, err := name.ParseReference(text)
	if err != nil {
		return is, nil, err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(platform), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return is, nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return is, nil, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return is, nil, err
	}
	blobs = []v1.Hash{digest, manifest.Config.Digest}
	for _, layer := range manifest.Layers {
		blobs = append(blobs, layer.Digest)
	}
	// Of one image for several platforms, each has an entry.
	same := func(d v1.Descriptor) bool { return d.Digest == digest && d.Annotations[refName] == ref.Name() }
	return entry{ref.Name(), digest}, blobs, to.ReplaceImage(image, same, ocilayout.WithAnnotations(map[string]string{refName: ref.Name()}), ocilayout.WithPlatform(platform))
}
