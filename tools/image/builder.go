// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/yuba-dev/yuba/tools/release/build"
)

// builder builds the images of a version.
type builder struct {
	// repository is where the images are to be pulled from, such as ghcr.io/yuba-dev.
	repository string
	version    build.Version
	// revision is the commit, and date its time.
	revision string
	date     time.Time
	// debian fetches packages of Debian, and compile compiles a platform's programs into a directory.
	debian  func(ctx context.Context, arch string, names []string) ([]debianPackage, error)
	compile func(ctx context.Context, p build.Platform) (dir string, err error)
	layers  layers
	// answer gets the names of the images, and news the progress.
	answer, news io.Writer
}

// built is an image for a platform.
type built struct {
	image    image
	platform build.Platform
	v1.Image
	// bill is its bill of materials, and artifact the manifest that refers to the image.
	bill     []byte
	artifact v1.Image
}

// build builds the images for a platform.
func (b *builder) build(ctx context.Context, p build.Platform) ([]built, error) {
	names := []string{}
	for _, i := range images {
		names = append(names, i.packages...)
	}
	slices.Sort(names)
	packages, err := b.debian(ctx, p.Arch, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	dir, err := b.compile(ctx, p)
	if err != nil {
		return nil, err
	}
	var all []built
	for _, i := range images {
		one, err := b.buildOne(i, p, packages, dir)
		if err != nil {
			return nil, fmt.Errorf("image %s for %s: %w", i.name, p, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// buildOne builds an image from packages of Debian and a directory of programs.
func (b *builder) buildOne(i image, p build.Platform, packages []debianPackage, dir string) (built, error) {
	result := built{image: i, platform: p}
	base, packages, err := i.debian(packages)
	if err != nil {
		return result, err
	}
	programs := i.programs
	steps := []step{{"Debian " + debianVersion, base}}
	if i.tofu {
		programs = append(slices.Clone(programs), "tofu")
		steps = append(steps, step{"OpenTofu", programTree(dir, "tofu")})
	}
	steps = append(steps, step{"Yuba", programTree(dir, i.programs...)})
	if result.Image, err = b.assemble(i, p, steps); err != nil {
		return result, err
	}
	if result.bill, err = b.writeBill(result, packages, dir, programs); err != nil {
		return result, err
	}
	result.artifact, err = billArtifact(result.bill, result.Image, b.date)
	return result, err
}

// step is a layer and its origin.
type step struct {
	origin string
	tree   tree
}

// assemble makes an image of layers.
func (b *builder) assemble(i image, p build.Platform, steps []step) (v1.Image, error) {
	result := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, s := range steps {
		added, err := b.layers.add(s.tree)
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: b.date}, CreatedBy: s.origin}
		if result, err = mutate.Append(result, mutate.Addendum{Layer: added, History: history}); err != nil {
			return nil, err
		}
	}
	config, err := result.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	at := ociPlatform(p)
	config.OS, config.Architecture, config.Variant = at.OS, at.Architecture, at.Variant
	config.Author, config.Created = "The Yuba Authors", v1.Time{Time: b.date}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", userID, userID), WorkingDir: "/home/" + i.user, Entrypoint: []string{"/" + programDir + i.programs[0]},
		Env:    []string{"PATH=/usr/local/bin:/usr/bin:/usr/sbin"},
		Labels: b.annotations(i),
	}
	if result, err = mutate.ConfigFile(result, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(result, b.annotations(i)).(v1.Image), nil
}

// annotations describe an image.
func (b *builder) annotations(i image) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": i.title, prefix + "version": b.version.Name, prefix + "revision": b.revision,
		prefix + "created": b.date.Format(time.RFC3339), prefix + "licenses": i.licences,
		prefix + "source": "https://github.com/yuba-dev/yuba", prefix + "vendor": "The Yuba Authors",
	}
}

// ociPlatform is a platform as registries name it.
func ociPlatform(p build.Platform) v1.Platform {
	at := v1.Platform{OS: p.OS, Architecture: p.Arch}
	if p.Arch == "arm64" {
		at.Variant = "v8"
	}
	return at
}
