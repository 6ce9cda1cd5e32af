// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/yuba-dev/yuba/internal/archive"
)

// Artifact describes an artifact in a registry.
type Artifact struct {
	URL      string `json:"url"`
	Digest   string `json:"digest"`
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
	Created  string `json:"created,omitempty"`
}

func describe(url, digest string, annotations map[string]string) Artifact {
	return Artifact{URL: url, Digest: digest, Source: annotations[oci.SourceAnnotation], Revision: annotations[oci.RevisionAnnotation],
		Created: annotations[oci.CreatedAnnotation]}
}

// Pull writes the files of an artifact to dir, which must be empty or not exist.
func Pull(ctx context.Context, ref, dir string, a Access) (Artifact, error) {
	from, err := a.parse(ref)
	if err != nil {
		return Artifact{}, fmt.Errorf("pull artifact: %w", err)
	}
	target, err := emptyDirectory(dir)
	if err != nil {
		return Artifact{}, fmt.Errorf("pull %s: %w", from.Name(), err)
	}
	options, err := a.remote(ctx)
	if err != nil {
		return Artifact{}, fmt.Errorf("pull %s: %w", from.Name(), err)
	}
	image, err := remote.Image(from, options...)
	if err != nil {
		return Artifact{}, explain("pull", from, err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Artifact{}, explain("pull", from, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return Artifact{}, explain("pull", from, err)
	}
	if len(manifest.Layers) == 0 {
		return Artifact{}, fmt.Errorf("pull %s: the artifact does not have a layer to unpack", from.Name())
	}
	if err := extract(ctx, from, image, manifest.Layers[0].Digest, target); err != nil {
		return Artifact{}, err
	}
	return describe(oci.OCIRepositoryPrefix+from.Name(), digest.String(), manifest.Annotations), nil
}

// extract unpacks a layer. The directory appears only after its digest is verified.
func extract(ctx context.Context, from name.Reference, image v1.Image, digest v1.Hash, target string) error {
	layer, err := image.LayerByDigest(digest)
	if err != nil {
		return explain("pull", from, err)
	}
	content, err := layer.Compressed()
	if err != nil {
		return explain("pull", from, err)
	}
	defer content.Close()
	if _, err := archive.Extract(ctx, content, target, archive.Limits{}, digest.String()); err != nil {
		return fmt.Errorf("pull %s: %w", from.Name(), err)
	}
	return nil
}

// emptyDirectory refuses a directory with files: the pulled one replaces it.
func emptyDirectory(dir string) (string, error) {
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(target); err == nil {
		target = resolved
	}
	f, err := os.Open(target)
	if errors.Is(err, os.ErrNotExist) {
		return target, os.MkdirAll(filepath.Dir(target), 0o755)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	switch _, err := f.Readdirnames(1); {
	case errors.Is(err, io.EOF):
		return target, nil
	case err != nil:
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return "", fmt.Errorf("%s is not empty; name an empty directory, or one that does not exist yet", dir)
}
