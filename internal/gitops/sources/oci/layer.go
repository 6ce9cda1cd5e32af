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
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// selectLayer returns the requested layer, unless it is too large.
func (r *Repository) selectLayer(manifest *v1.Manifest, shown string) (v1.Descriptor, error) {
	if len(manifest.Layers) == 0 {
		return v1.Descriptor{}, upstream.Failed(reasonLayer, nil, "the artifact of %s has no layers", shown)
	}
	for _, layer := range manifest.Layers {
		if r.MediaType != "" && string(layer.MediaType) != r.MediaType {
			continue
		}
		if limit := r.Limits.WithDefaults().MaxPacked; layer.Size > limit || layer.Size < 0 {
			err := &archive.LimitError{What: "the size of the layer in bytes", Limit: limit}
			return v1.Descriptor{}, attempted(reasonLayer, "take the layer of "+shown, err)
		}
		return layer, nil
	}
	return v1.Descriptor{}, upstream.Failed(reasonLayer, nil, "the artifact of %s does not have a layer of the type '%s' in spec.layerSelector; its first is of '%.100s'",
		shown, r.MediaType, manifest.Layers[0].MediaType)
}

// Fetch writes the tree of the selected layer to dir, which exists and is empty.
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

// explainExtract distinguishes failures of the connection, of the layer and of this machine.
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

// Archive opens the selected layer unchanged. Its end is an error if the digest does not match.
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

// explain makes a failure for the source's status. It drops the remembered look: the artifact may
// no longer exist.
func (a *Artifact) explain(reason, verb string, err error) error {
	a.forget()
	return attempted(reason, fmt.Sprintf("%s the layer %s of %s", verb, a.layer.Digest, shown(a.seen.registry.repository)), err)
}
