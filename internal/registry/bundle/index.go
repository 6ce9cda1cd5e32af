// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// maxManifest limits manifests and configurations of images, which are read into memory.
const maxManifest = 8 << 20

// platformed is an image of one platform.
type platformed struct {
	image v1.Image
	as    v1.Descriptor
}

// indexOf is an index of images.
func indexOf(images []platformed) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, "application/vnd.oci.image.index.v1+json")
	for _, p := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: p.image, Descriptor: v1.Descriptor{MediaType: p.as.MediaType, Platform: p.as.Platform}})
	}
	return index
}

// stored is an image whose blobs are in a bundle: its layers are read in place.
type stored struct {
	a        *Archive
	as       v1.Descriptor
	raw      []byte
	manifest func() (*v1.Manifest, error)
}

func (a *Archive) image(as v1.Descriptor) (v1.Image, error) {
	raw, err := a.readFile(blobPath(as.Digest), maxManifest)
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&stored{a, as, raw, sync.OnceValues(func() (*v1.Manifest, error) {
		m, err := v1.ParseManifest(bytes.NewReader(raw))
		if err != nil {
			return nil, invalidf("the manifest of an image is not valid: %v", err)
		}
		return m, nil
	})})
}

func blobPath(h v1.Hash) string { return ImageDir + "/blobs/" + h.Algorithm + "/" + h.Hex }

// RawManifest implements [partial.CompressedImageCore].
func (s *stored) RawManifest() ([]byte, error) { return s.raw, nil }

// MediaType implements [partial.CompressedImageCore].
func (s *stored) MediaType() (types.MediaType, error) { return s.as.MediaType, nil }

// RawConfigFile implements [partial.CompressedImageCore].
func (s *stored) RawConfigFile() ([]byte, error) {
	m, err := s.manifest()
	if err != nil {
		return nil, err
	}
	return s.a.readFile(blobPath(m.Config.Digest), maxManifest)
}

// LayerByDigest implements [partial.CompressedImageCore].
func (s *stored) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	m, err := s.manifest()
	if err != nil {
		return nil, err
	}
	for _, d := range append([]v1.Descriptor{m.Config}, m.Layers...) {
		if d.Digest == h {
			return &blob{s.a, d}, nil
		}
	}
	return nil, invalidf("an image has no layer %s", h)
}

// blob is a layer in a bundle.
type blob struct {
	a *Archive
	d v1.Descriptor
}

// Digest implements [partial.CompressedLayer].
func (b *blob) Digest() (v1.Hash, error) { return b.d.Digest, nil }

// Size implements [partial.CompressedLayer].
func (b *blob) Size() (int64, error) { return b.d.Size, nil }

// MediaType implements [partial.CompressedLayer].
func (b *blob) MediaType() (types.MediaType, error) { return b.d.MediaType, nil }

// Compressed implements [partial.CompressedLayer].
func (b *blob) Compressed() (io.ReadCloser, error) {
	r, err := b.a.Reader(blobPath(b.d.Digest))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}
