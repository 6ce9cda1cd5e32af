// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// billType is the type of bills of materials.
const billType = "application/spdx+json"

// artifact is a manifest with one file and an empty configuration, as the OCI image specification
// describes for what is not an image.
type artifact struct {
	raw  []byte
	file v1.Layer
}

// emptyConfig is the configuration of artifacts.
var emptyConfig = static.NewLayer([]byte("{}"), "application/vnd.oci.empty.v1+json")

// billArtifact is the bill of materials of an image as a manifest that refers to the image.
func billArtifact(bill []byte, of v1.Image, date time.Time) (v1.Image, error) {
	a := artifact{file: static.NewLayer(bill, billType)}
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: billType,
		Annotations: map[string]string{"org.opencontainers.image.created": date.Format(time.RFC3339)},
	}
	subject, err := partial.Descriptor(of)
	if err != nil {
		return nil, err
	}
	manifest.Subject = &v1.Descriptor{MediaType: subject.MediaType, Size: subject.Size, Digest: subject.Digest}
	config, err := partial.Descriptor(emptyConfig)
	if err != nil {
		return nil, err
	}
	file, err := partial.Descriptor(a.file)
	if err != nil {
		return nil, err
	}
	manifest.Config, manifest.Layers = *config, []v1.Descriptor{*file}
	if a.raw, err = json.Marshal(manifest); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&a)
}

func (a *artifact) RawConfigFile() ([]byte, error)      { return []byte("{}"), nil }
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *artifact) RawManifest() ([]byte, error)        { return a.raw, nil }

// ConfigLayer replaces the one of the library, which assumes an image's configuration.
func (a *artifact) ConfigLayer() (v1.Layer, error) { return emptyConfig, nil }

func (a *artifact) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	for _, l := range []v1.Layer{a.file, emptyConfig} {
		if d, err := l.Digest(); err == nil && d == digest {
			return l, nil
		}
	}
	return nil, fmt.Errorf("the artifact does not have %s", digest)
}
