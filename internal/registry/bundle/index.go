// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// platformed is an image of one platform.
type platformed struct {
	image v1.Image
	as    v1.Descriptor
}

// partial are the images of an index that match.
func partial(index v1.ImageIndex, which match.Matcher) (found []platformed, err error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		if !which(d) {
			continue
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		found = append(found, platformed{image, d})
	}
	return found, nil
}

// indexOf is an index of images.
func indexOf(images []platformed) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, "application/vnd.oci.image.index.v1+json")
	for _, p := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: p.image, Descriptor: v1.Descriptor{MediaType: p.as.MediaType, Platform: p.as.Platform}})
	}
	return index
}
