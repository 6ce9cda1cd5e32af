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

// PushOptions say what is pushed and how.
type PushOptions struct {
	Access
	// Path is the directory or file.
	Path string
	// Stream is what is pushed instead of Path, as one file of manifests.
	Stream io.Reader
	// Source and Revision say what the artifact was made from.
	Source, Revision string
	// Annotations are set besides; they win.
	Annotations map[string]string
	// Ignore are patterns as .gitignore has them; nil means DefaultIgnore.
	Ignore []string
	// Created is when the artifact was made; the zero time means 1970, so that the digest tells of
	// the content only.
	Created time.Time
	// Progress is told how many of all bytes have been sent; it may be nil.
	Progress func(sent, all int64)
}

// Pushed tells where an artifact is, in the words of "flux push artifact".
type Pushed struct {
	URL        string `json:"url"`
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest"`

	// Files and Size are what went into it; Links were left out.
	Files int      `json:"-"`
	Size  int64    `json:"-"`
	Links []string `json:"-"`
}

// Push makes an artifact and puts it into a registry.
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

// image makes the artifact; its layer stays in dir, so that memory does not bound it.
func (o PushOptions) image(ctx context.Context, dir string) (v1.Image, built, error) {
	path := o.Path
	if o.Stream != nil {
		saved, err := saveStream(o.Stream, dir)
		if err != nil {
			return nil, built{}, fmt.Errorf("read what to push: %w", err)
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
		return nil, built{}, fmt.Errorf("make the layer: %w", err)
	}
	image, err := o.around(layer)
	return image, made, err
}

// around puts a layer into an image with the configuration and the annotations of Flux.
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
		return nil, fmt.Errorf("the annotation %s is %q: want a time such as 2026-01-02T15:04:05Z", oci.CreatedAnnotation, annotations[oci.CreatedAnnotation])
	}
	config, err := empty.Image.ConfigFile()
	if err != nil {
		return nil, err
	}
	// The time goes in before the media type is set: what is changed in a configuration of another
	// type is lost.
	config.Created = v1.Time{Time: created}
	image, err := mutate.ConfigFile(empty.Image, config)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), oci.CanonicalConfigMediaType)
	annotated, ok := mutate.Annotations(image, annotations).(v1.Image)
	if !ok {
		return nil, errors.New("annotate the image: it is none any more. This is a bug in Yuba")
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
		// The registry's client closes the channel, also when it fails.
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

// Tag gives an artifact more tags, and returns the references that they make.
func Tag(ctx context.Context, ref string, tags []string, a Access) ([]string, error) {
	from, err := a.parse(ref)
	if err != nil {
		return nil, fmt.Errorf("tag artifact: %w", err)
	}
	targets := make([]name.Tag, 0, len(tags))
	for _, tag := range tags {
		target, err := name.NewTag(from.Context().Name()+":"+tag, append(a.names(), name.StrictValidation)...)
		if err != nil {
			return nil, fmt.Errorf("tag %s: %q is not a tag: letters, digits, \"_\", \".\" and \"-\", 128 at most", from.Name(), tag)
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
