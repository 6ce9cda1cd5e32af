// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yuba-dev/yuba/internal/archive"
)

var errNoArchive = errors.New("it is not a gzipped tar archive; spec.layerSelector selects another layer by its mediaType, " +
	"and its operation 'copy' keeps a layer unchanged")

// selectLayer finds the layer that is asked for, and sees that it is not too large before anything
// of it is read.
func (r *Repository) selectLayer(manifest *v1.Manifest, shown string) (v1.Descriptor, error) {
	if len(manifest.Layers) == 0 {
		return v1.Descriptor{}, failure(reasonLayer, "the artifact of %s has no layers", nil, shown)
	}
	for _, layer := range manifest.Layers {
		if r.MediaType != "" && string(layer.MediaType) != r.MediaType {
			continue
		}
		if limit := r.maxPacked(); layer.Size > limit || layer.Size < 0 {
			err := &archive.LimitError{What: "the size of the layer in bytes", Limit: limit}
			return v1.Descriptor{}, failure(reasonLayer, "take the layer of %s: %s", err, shown, err)
		}
		return layer, nil
	}
	return v1.Descriptor{}, failure(reasonLayer, "the artifact of %s does not have a layer of the type '%s' in spec.layerSelector; its first is of '%.100s'", nil,
		shown, r.MediaType, manifest.Layers[0].MediaType)
}

func (r *Repository) maxPacked() int64 {
	if r.Limits.MaxPacked > 0 {
		return r.Limits.MaxPacked
	}
	return archive.DefaultMaxPacked
}

// Fetch makes dir, which is there and empty, the tree of the selected layer.
func (a *Artifact) Fetch(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, a.wanted.Timeout)
	defer cancel()
	content, err := a.open(ctx)
	if err != nil {
		return a.explain(reasonPull, "pull", err)
	}
	defer content.Close()
	buffered := bufio.NewReaderSize(content, 64<<10)
	if magic, err := buffered.Peek(2); err == nil && (magic[0] != 0x1f || magic[1] != 0x8b) {
		return a.explain(reasonLayer, "extract", errNoArchive)
	}
	_, err = archive.Extract(ctx, buffered, dir, a.wanted.Limits, "")
	return a.explainExtract(err)
}

// explainExtract tells apart what can be wrong with the way from the registry, with the layer, and
// with this machine.
func (a *Artifact) explainExtract(err error) error {
	var (
		wire   *wireError
		digest *archive.DigestError
		limit  *archive.LimitError
		entry  *archive.EntryError
		local  *fs.PathError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire), errors.As(err, &digest), errors.Is(err, errSize), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return a.explain(reasonPull, "pull", err)
	case errors.As(err, &limit), errors.As(err, &entry):
		return a.explain(reasonLayer, "extract", err)
	case errors.As(err, &local):
		return err
	}
	return a.explain(reasonLayer, "extract", fmt.Errorf("%w: %w", errNoArchive, err))
}

// Archive opens the selected layer as it is. Its end is an error if it is not what its digest
// promises.
func (a *Artifact) Archive(ctx context.Context) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, a.wanted.Timeout)
	content, err := a.open(ctx)
	if err != nil {
		cancel()
		return nil, a.explain(reasonPull, "pull", err)
	}
	return &opened{content, a, cancel}, nil
}

type opened struct {
	io.ReadCloser
	artifact *Artifact
	cancel   context.CancelFunc
}

func (r *opened) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.artifact.explain(reasonPull, "pull", err)
	}
	return n, err
}

func (r *opened) Close() error {
	defer r.cancel()
	return r.ReadCloser.Close()
}

func (a *Artifact) open(ctx context.Context) (io.ReadCloser, error) {
	return a.seen.registry.blob(ctx, a.layer.Digest, a.layer.Size)
}

// explain says that something failed. The next look is not answered from memory: what was there
// then may be gone.
func (a *Artifact) explain(reason, verb string, err error) error {
	a.forget()
	return asFetchError(reason, fmt.Sprintf("%s the layer %s of %s", verb, a.layer.Digest, shown(a.seen.registry.repository)), err)
}
