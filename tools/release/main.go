// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command release writes the files of a release: for each platform an archive and a bill of
// materials, for Linux packages for Debian and Red Hat, and the signed checksums of all.
//
//	release [-platforms OS/ARCH,...] [-version VERSION] [-out DIR] [-programs DIR] [-rehearsal]
//
// "make release" starts it. Releases are reproducible: they depend only on the commit and the
// version of Go, not on machine, directory or time.
//
// $YUBA_SIGNING_KEY signs the checksums: an ECDSA P-256 key in PEM, or the name of its file. A
// tagged version requires it. A rehearsal needs no key and is never signed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/tools/release/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

// programs are the programs of an installation: yuba finds the others beside itself.
var programs = []string{"yuba", "yuba-runner", "yuba-sandbox", "yuba-network", "yuba-kustomize", "yuba-policy", "yuba-sops", "yuba-helm"}

// ownModules are the programs that are Go modules of their own.
var ownModules = []string{"yuba-policy", "yuba-helm"}

// release is the release to make.
type release struct {
	// root is the repository; out is the directory of the release.
	root, out string
	version   build.Version
	// date is that of the commit, and the time of all files.
	date time.Time
	// built is the directory with the programs of this platform; empty to build them.
	built string
	// tags and flags are the build tags and linker flags of the programs.
	tags, flags string
	// rehearsal allows a version that is not the commit's tag. It is never signed.
	rehearsal bool
	// packages includes packages for Debian and Red Hat.
	packages bool
	key      *signingKey
	news     io.Writer
}

func run(ctx context.Context, args []string, news io.Writer) error {
	r := release{news: news}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	platforms := flags.String("platforms", build.AllPlatforms, "the platforms to build for")
	name := flags.String("version", "", "the version, as git describe names it")
	flags.BoolVar(&r.rehearsal, "rehearsal", false, "try a release, of a version whose tag need not be at the checkout's commit; it is never signed, and must not be published")
	epoch := flags.String("date", os.Getenv("SOURCE_DATE_EPOCH"), "the time of all files, in seconds since 1970 (default that of the commit)")
	flags.StringVar(&r.root, "root", "../..", "the repository")
	flags.StringVar(&r.out, "out", "", "where to write the release (default dist in the repository)")
	flags.StringVar(&r.built, "programs", "", "take the programs of this platform from here instead of building them")
	flags.StringVar(&r.tags, "tags", "", "the tags to build with")
	flags.StringVar(&r.flags, "ldflags", "-s -w", "the linker's flags")
	flags.BoolVar(&r.packages, "packages", true, "make packages of Debian and Red Hat, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := r.settle(ctx, *name, *epoch); err != nil {
		return err
	}
	wanted, err := build.ParsePlatforms(*platforms)
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	defer os.RemoveAll(r.buildDir()) //nolint:errcheck // the next release removes what is left
	var made []string
	for _, p := range wanted {
		files, err := r.make(ctx, p)
		if err != nil {
			return fmt.Errorf("release for %s: %w", p, err)
		}
		made = append(made, files...)
	}
	return r.finish(made)
}

// settle determines what to release, and rejects what must not be released.
func (r *release) settle(ctx context.Context, name, epoch string) (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if r.version, err = build.Checkout(r.root).Version(ctx, name); err != nil {
		return err
	}
	if err := r.checkTag(ctx); err != nil {
		return err
	}
	if r.date, err = build.Checkout(r.root).Date(ctx, epoch); err != nil {
		return err
	}
	if r.rehearsal {
		return nil // without a key
	}
	if r.key, err = readSigningKey(os.Getenv(keyVariable)); err != nil {
		return err
	}
	if r.key == nil && r.version.Tagged {
		return fmt.Errorf("release %s: a version with a tag is released with a signature only, and $%s is not set%s", r.version.Name, keyVariable, r.hint())
	}
	return nil
}

// hint explains how to rehearse a rejected release.
func (r *release) hint() string {
	return fmt.Sprintf("\nTo try the release without publishing it:\n    make release VERSION=%s REHEARSAL=1", r.version.Name)
}

// checkTag rejects a version whose tag is not at the checked out commit.
func (r *release) checkTag(ctx context.Context) error {
	if !r.version.Tagged || r.rehearsal {
		return nil
	}
	tags, err := build.Checkout(r.root).Git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return fmt.Errorf("compare version %s with the tags of the commit: %w", r.version.Name, err)
	}
	if !slices.Contains(strings.Fields(tags), r.version.Name) {
		return fmt.Errorf("release %s: the checkout's commit does not have that tag, it has %q%s", r.version.Name, strings.Fields(tags), r.hint())
	}
	// Go also compiles untracked files, and git's configuration can hide them.
	changed, err := build.Checkout(r.root).Git(ctx, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return fmt.Errorf("look for changes since tag %s: %w", r.version.Name, err)
	}
	if changed != "" {
		return fmt.Errorf("release %s: the checkout has changes that are not committed:\n%s%s", r.version.Name, changed, r.hint())
	}
	return nil
}

// begin creates the directory, and removes an earlier release from it.
func (r *release) begin() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	err := os.RemoveAll(r.buildDir())
	for _, pattern := range []string{"yuba_*", "yuba-*", "yuba.pub"} {
		old, globErr := filepath.Glob(filepath.Join(r.out, pattern))
		err = errors.Join(err, globErr)
		for _, path := range old {
			err = errors.Join(err, os.Remove(path)) // fails for a directory that is not empty, which is not ours
		}
	}
	return err
}

// make writes the files for a platform, and returns their names.
func (r *release) make(ctx context.Context, p build.Platform) ([]string, error) {
	dir, err := r.programs(ctx, p)
	if err != nil {
		return nil, err
	}
	tree, err := r.tree(ctx, p, dir)
	if err != nil {
		return nil, err
	}
	archive := r.fileName(p) + ".tar.gz"
	if err := writeArchive(filepath.Join(r.out, archive), r.fileName(p), tree, r.date); err != nil {
		return nil, err
	}
	bill := r.fileName(p) + "_sbom.cdx.json"
	if err := r.writeBill(filepath.Join(r.out, bill), p, dir); err != nil {
		return nil, err
	}
	made := []string{archive, bill}
	if r.packages {
		packages, err := r.writePackages(p, tree)
		if err != nil {
			return nil, err
		}
		made = append(made, packages...)
	}
	return made, nil
}

// fileName is the start of the names of a platform's files.
func (r *release) fileName(p build.Platform) string {
	return fmt.Sprintf("yuba_%s_%s_%s", r.version.Plain, p.OS, p.Arch)
}

// programs returns a directory with the platform's programs.
func (r *release) programs(ctx context.Context, p build.Platform) (string, error) {
	if r.built != "" {
		if p != build.ThisPlatform {
			return "", fmt.Errorf("-programs %s has those of %s", r.built, build.ThisPlatform)
		}
		return r.built, nil
	}
	return r.build(ctx, p)
}

// build compiles the programs for a platform.
func (r *release) build(ctx context.Context, p build.Platform) (string, error) {
	fmt.Fprintf(r.news, "Building for %s; the first time that takes some minutes\n", p)
	all := build.Programs{Module: r.root, Tags: r.tags, Flags: r.flags, News: r.news}
	for _, name := range programs {
		if !slices.Contains(ownModules, name) {
			all.Packages = append(all.Packages, "./cmd/"+name)
		}
	}
	dir := filepath.Join(r.buildDir(), p.OS+"_"+p.Arch)
	if err := all.Compile(ctx, p, dir); err != nil {
		return dir, err
	}
	for _, name := range ownModules {
		own := build.Programs{Module: filepath.Join(r.root, "cmd", name), Packages: []string{"."}, Tags: r.tags, Flags: r.flags, News: r.news}
		if err := own.Compile(ctx, p, dir); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// buildDir is the directory of built programs.
func (r *release) buildDir() string { return filepath.Join(r.out, "yuba_build") }

// finish writes the checksums and the other files about all platforms.
func (r *release) finish(made []string) error {
	script, err := os.ReadFile(filepath.Join(r.root, "install.sh"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "install.sh"), script, 0o755); err != nil {
		return err
	}
	made = append(made, "install.sh")
	slices.Sort(made)
	sums, err := checksums(r.out, made)
	if err != nil {
		return err
	}
	list := fmt.Sprintf("yuba_%s_SHA256SUMS", r.version.Plain)
	if err := os.WriteFile(filepath.Join(r.out, list), sums, 0o644); err != nil {
		return err
	}
	// install.sh finds the newest version with this file.
	if err := os.WriteFile(filepath.Join(r.out, "yuba_version.txt"), []byte(r.version.Plain+"\n"), 0o644); err != nil {
		return err
	}
	if r.rehearsal {
		fmt.Fprintf(r.news, "%s is NOT signed: this is a rehearsal\n", list)
		return nil
	}
	if r.key == nil {
		fmt.Fprintf(r.news, "%s is NOT signed: $%s is not set\n", list, keyVariable)
		return nil
	}
	return r.key.sign(filepath.Join(r.out, list), sums, filepath.Join(r.out, "yuba.pub"))
}
