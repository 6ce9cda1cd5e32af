// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
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

// Push copies the images of an unpacked bundle to a registry, HOST[/PATH], under their own repositories and tags. Images of
// several platforms become one index.
func Push(ctx context.Context, dir, registry string, insecure bool, tell func(from, to string)) error {
	from, err := ocilayout.FromPath(filepath.Join(dir, ImageDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	index, err := from.ImageIndex()
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	var names []string
	for _, d := range manifest.Manifests {
		if n := d.Annotations[refName]; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	var options []name.Option
	if insecure {
		options = append(options, name.Insecure)
	}
	for _, n := range names {
		ref, err := name.ParseReference(n)
		if err != nil {
			return &InvalidError{fmt.Sprintf("the name of an image is not valid: %v", err)}
		}
		target := path.Join(registry, ref.Context().RepositoryStr())
		if _, isDigest := ref.(name.Digest); isDigest {
			target += "@" + ref.Identifier()
		} else {
			target += ":" + ref.Identifier()
		}
		to, err := name.ParseReference(target, options...)
		if err != nil {
			return err
		}
		if err := push(ctx, from, match.Name(n), to); err != nil {
			return fmt.Errorf("push %s: %w", to, err)
		}
		tell(n, to.String())
	}
	return nil
}

func push(ctx context.Context, from ocilayout.Path, which match.Matcher, to name.Reference) error {
	index, err := from.ImageIndex()
	if err != nil {
		return err
	}
	o := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	found, err := partial(index, which)
	if err != nil {
		return err
	}
	if len(found) == 1 {
		return remote.Write(to, found[0].image, o...)
	}
	return remote.WriteIndex(to, indexOf(found), o...)
}

// Has reports whether an unpacked bundle has a part.
func Has(dir, part string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(part)))
	return err == nil
}
