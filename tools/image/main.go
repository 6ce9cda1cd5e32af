// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/yuba-dev/yuba/tools/release/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, answer, news io.Writer) error {
	if len(args) > 0 && args[0] == "push" {
		flags := flag.NewFlagSet("image push", flag.ContinueOnError)
		from := flags.String("from", "../../dist/images", "the directory with the images")
		to := flags.String("to", "", "the repository, such as registry.example.com/yuba (default the one of the images' names)")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return push(ctx, *from, *to, answer)
	}
	return buildAll(ctx, args, answer, news)
}

// compiler compiles the programs of images.
type compiler struct {
	root, work  string
	tags, flags string
	news        io.Writer
}

// buildAll builds the images for all platforms.
func buildAll(ctx context.Context, args []string, answer, news io.Writer) error {
	c, b, packages := compiler{news: news}, builder{answer: answer, news: news}, apt{news: news}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	list := flags.String("platforms", build.AllPlatforms, "the platforms to build for")
	name := flags.String("version", "", "the version, as git describe names it, and the images' tag")
	epoch := flags.String("date", os.Getenv("SOURCE_DATE_EPOCH"), "the time of the images, in seconds since 1970 (default that of the commit)")
	flags.StringVar(&b.repository, "repository", "ghcr.io/yuba-dev", "the repository to name the images after")
	flags.StringVar(&packages.snapshot, "snapshot", "", "take Debian's packages of this time from snapshot.debian.org: 20261101T000000Z")
	flags.StringVar(&c.root, "root", "../..", "the repository's checkout")
	flags.StringVar(&c.work, "work", "", "a directory that speeds up the next build (default bin/.image in the checkout)")
	flags.StringVar(&c.tags, "tags", "", "the tags to build with")
	flags.StringVar(&c.flags, "ldflags", "-s -w", "the linker's flags")
	out := flags.String("out", "", "where to write the images (default dist/images in the checkout)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms, err := build.ParsePlatforms(*list)
	if err != nil {
		return err
	}
	if err := c.settle(out); err != nil {
		return err
	}
	if err := b.settle(ctx, build.Checkout(c.root), *name, *epoch); err != nil {
		return err
	}
	packages.dir = filepath.Join(c.work, "apt")
	b.layers = layers{dir: filepath.Join(c.work, "layers"), used: map[string]bool{}}
	b.debian, b.compile = packages.fetch, c.compile
	return b.run(ctx, platforms, *out)
}

// settle determines the directories.
func (c *compiler) settle(out *string) error {
	root, err := filepath.Abs(c.root)
	if err != nil {
		return err
	}
	if c.root = root; c.work == "" {
		c.work = filepath.Join(root, "bin", ".image")
	}
	if *out == "" {
		*out = filepath.Join(root, "dist", "images")
	}
	c.work, err = filepath.Abs(c.work)
	return err
}

// settle determines which version the images have.
func (b *builder) settle(ctx context.Context, checkout build.Checkout, name, epoch string) (err error) {
	if b.version, err = checkout.Version(ctx, name); err != nil {
		return err
	}
	if b.date, err = checkout.Date(ctx, epoch); err != nil {
		return err
	}
	b.revision, err = checkout.Git(ctx, "rev-parse", "HEAD")
	return err
}

// run builds and writes the images.
func (b *builder) run(ctx context.Context, platforms []build.Platform, out string) error {
	var all []built
	for _, p := range platforms {
		images, err := b.build(ctx, p)
		if err != nil {
			return err
		}
		all = append(all, images...)
	}
	if err := b.write(out, all); err != nil {
		return err
	}
	return b.layers.clean()
}

// compile compiles Yuba's programs and tofu for a platform. go build leaves unchanged programs alone.
func (c *compiler) compile(ctx context.Context, p build.Platform) (string, error) {
	fmt.Fprintf(c.news, "Building for %s; the first time that takes some minutes\n", p)
	dir := filepath.Join(c.work, "programs", p.OS+"_"+p.Arch)
	tofu := build.Programs{
		Module: filepath.Join(c.root, "tools", "tofu"), Packages: []string{"github.com/opentofu/opentofu/cmd/tofu"},
		Tags: c.tags, Flags: "-s -w -X github.com/opentofu/opentofu/version.dev=no", News: c.news,
	}
	if err := tofu.Compile(ctx, p, dir); err != nil {
		return "", err
	}
	yuba := build.Programs{Module: c.root, Packages: []string{"./cmd/..."}, Tags: c.tags, Flags: c.flags, News: c.news}
	if err := yuba.Compile(ctx, p, dir); err != nil {
		return "", err
	}
	for _, name := range []string{"yuba-policy", "yuba-helm"} {
		own := build.Programs{Module: filepath.Join(c.root, "cmd", name), Packages: []string{"."}, Tags: c.tags, Flags: c.flags, News: c.news}
		if err := own.Compile(ctx, p, dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}
