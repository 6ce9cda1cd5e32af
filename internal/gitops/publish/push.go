// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PushOptions describe a push.
type PushOptions struct {
	Access
	// Path is the directory or file.
	Path string
	// Stream, if set, replaces Path: the content of a single file of manifests.
	Stream io.Reader
	// Source and Revision name the artifact's origin.
	Source, Revision string
	// Annotations are further annotations, which override others.
	Annotations map[string]string
	// Ignore are patterns in the format of .gitignore; nil means DefaultIgnore.
	Ignore []string
	// Created is the artifact's time; the default is 1970, so that only the content determines the
	// digest.
	Created time.Time
	// Progress receives the number of sent bytes; it may be nil.
	Progress func(sent, all int64)
}

// Pushed is the result of a push, in the format of "flux push artifact".
type Pushed struct {
	URL        string `json:"url"`
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest"`

	// Files and Size describe the content. Links were excluded.
	Files int      `json:"-"`
	Size  int64    `json:"-"`
	Links []string `json:"-"`
}

// Push creates an artifact and uploads it to a registry.
func Push(ctx context.Context, ref string, o PushOptions) (_ Pushed, err error) {
	tag, err := o.parseTag(ref)
	if err != nil {
		return Pushed{}, fmt.Errorf("push artifact: %w", err)
	}
	dir, err := os.MkdirTemp("", "yuba-push-")
	if err != nil {
		return Pushed{}, fmt.Errorf("push %s: %w", ref, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	image, made, err := o.image(ctx, dir)
	if err != nil {
		return Pushed{}, fmt.Errorf("push %s: %w", ref, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return Pushed{}, fmt.Errorf("push %s: %w", ref, err)
	}
	if err := o.upload(ctx, tag, image); err != nil {
		return Pushed{}, err
	}
	at := tag.Context().Digest(digest.String())
	return Pushed{URL: oci.OCIRepositoryPrefix + at.Name(), Repository: tag.Context().Name(), Tag: tag.TagStr(), Digest: digest.String(),
		Files: made.files, Size: made.size, Links: made.links}, nil
}

// image creates the artifact. Its layer is a file in dir, to save memory.
func (o PushOptions) image(ctx context.Context, dir string) (v1.Image, built, error) {
	path := o.Path
	if o.Stream != nil {
		saved, err := saveStream(o.Stream, dir)
		if err != nil {
			return nil, built{}, fmt.Errorf("read the content: %w", err)
		}
		path = saved
	}
	if o.Ignore == nil {
		o.Ignore = DefaultIgnore()
	}
	file := filepath.Join(dir, "layer.tar.gz")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, built{}, err
	}
	made, err := build(ctx, path, o.Ignore, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, built{}, err
	}
	layer, err := tarball.LayerFromFile(file, tarball.WithMediaType(oci.CanonicalContentMediaType))
	if err != nil {
		return nil, built{}, fmt.Errorf("create the layer: %w", err)
	}
	image, err := o.around(layer)
	return image, made, err
}

// around adds a layer to an image with Flux's configuration and annotations.
func (o PushOptions) around(layer v1.Layer) (v1.Image, error) {
	if o.Created.IsZero() {
		o.Created = time.Unix(0, 0)
	}
	annotations := map[string]string{
		oci.CreatedAnnotation: o.Created.UTC().Format(time.RFC3339), oci.SourceAnnotation: o.Source, oci.RevisionAnnotation: o.Revision,
	}
	maps.Copy(annotations, o.Annotations)
	created, err := time.Parse(time.RFC3339, annotations[oci.CreatedAnnotation])
	if err != nil {
		return nil, fmt.Errorf("the annotation %s is %q; expected a time such as 2026-01-02T15:04:05Z", oci.CreatedAnnotation, annotations[oci.CreatedAnnotation])
	}
	config, err := empty.Image.ConfigFile()
	if err != nil {
		return nil, err
	}
	// Set the time before the media type: the library drops later changes of the configuration.
	config.Created = v1.Time{Time: created}
	image, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), oci.CanonicalConfigMediaType)
	annotated, ok := mutate.Annotations(image, annotations).(v1.Image)
	if !ok {
		return nil, errors.New("annotate the image: the result is not an image. This is a bug in Yuba")
	}
	return mutate.Append(annotated, mutate.Addendum{Layer: layer})
}

func (o PushOptions) upload(ctx context.Context, tag name.Tag, image v1.Image) error {
	options, err := o.remote(ctx)
	if err != nil {
		return fmt.Errorf("push %s: %w", tag.Name(), err)
	}
	told := make(chan struct{})
	close(told)
	if o.Progress != nil {
		// The library closes the channel, also after an error.
		updates := make(chan v1.Update, 16)
		told = make(chan struct{})
		go func() {
			defer close(told)
			for u := range updates {
				o.Progress(u.Complete, u.Total)
			}
		}()
		options = append(options, remote.WithProgress(updates))
	}
	err = remote.Write(tag, image, options...)
	<-told
	if err != nil {
		return explain("push to", tag, err)
	}
	return nil
}

// Tag adds tags to an artifact, and returns the new references.
func Tag(ctx context.Context, ref string, tags []string, a Access) ([]string, error) {
	from, err := a.parse(ref)
	if err != nil {
		return nil, fmt.Errorf("tag artifact: %w", err)
	}
	targets := make([]name.Tag, 0, len(tags))
	for _, tag := range tags {
		target, err := name.NewTag(from.Context().Name()+":"+tag, append(a.names(), name.StrictValidation)...)
		if err != nil {
			return nil, fmt.Errorf("tag %s: %q is not a valid tag; use at most 128 letters, digits, \"_\", \".\" and \"-\"", from.Name(), tag)
		}
		targets = append(targets, target)
	}
	options, err := a.remote(ctx)
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", from.Name(), err)
	}
	artifact, err := remote.Get(from, options...)
	if err != nil {
		return nil, explain("tag", from, err)
	}
	var made []string
	for _, target := range targets {
		if err := remote.Tag(target, artifact, options...); err != nil {
			return made, explain("tag as", target, err)
		}
		made = append(made, oci.OCIRepositoryPrefix+target.Name())
	}
	return made, nil
}
