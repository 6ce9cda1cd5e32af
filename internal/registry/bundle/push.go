// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push copies the images of a bundle to a registry, HOST[/PATH], under their own repositories and tags, without unpacking
// them. Images of several platforms become one index.
func (a *Archive) Push(ctx context.Context, registry string, insecure bool, tell func(from, to string)) error {
	if !a.Has(ImageDir) {
		return nil
	}
	text, err := a.readFile(ImageDir+"/index.json", maxManifest)
	if err != nil {
		return err
	}
	manifest, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return invalidf("its list of images is not valid: %v", err)
	}
	var names []string
	for _, d := range manifest.Manifests {
		if n := d.Annotations[refName]; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		to, err := targetOf(n, registry, insecure)
		if err != nil {
			return err
		}
		if err := a.pushOne(ctx, manifest, n, to); err != nil {
			return fmt.Errorf("push %s: %w", to, err)
		}
		tell(n, to.String())
	}
	return nil
}

// targetOf is the reference of an image in another registry.
func targetOf(text, registry string, insecure bool) (name.Reference, error) {
	ref, err := name.ParseReference(text)
	if err != nil {
		return nil, invalidf("the name of an image is not valid: %v", err)
	}
	target := path.Join(registry, ref.Context().RepositoryStr())
	if _, isDigest := ref.(name.Digest); isDigest {
		target += "@" + ref.Identifier()
	} else {
		target += ":" + ref.Identifier()
	}
	var options []name.Option
	if insecure {
		options = append(options, name.Insecure)
	}
	return name.ParseReference(target, options...)
}

func (a *Archive) pushOne(ctx context.Context, manifest *v1.IndexManifest, text string, to name.Reference) error {
	var found []platformed
	for _, d := range manifest.Manifests {
		if d.Annotations[refName] != text {
			continue
		}
		image, err := a.image(d)
		if err != nil {
			return err
		}
		found = append(found, platformed{image, d})
	}
	o := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if len(found) == 1 {
		return remote.Write(to, found[0].image, o...)
	}
	return remote.WriteIndex(to, indexOf(found), o...)
}
