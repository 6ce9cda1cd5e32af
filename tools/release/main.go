// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command release writes what people install Yuba from: for each platform an archive and a bill of materials, for Linux
// packages of Debian and of Red Hat, and the checksums of all, signed.
//
//	release [-platforms OS/ARCH,...] [-version VERSION] [-out DIR] [-programs DIR] [-rehearsal]
//
// "make release" starts it. The same commit, built with the same Go, gives the same bytes on any machine, in any directory, at
// any time: nothing of the three goes in.
//
// $YUBA_SIGNING_KEY signs the checksums: an ECDSA key on P-256 in PEM, or the name of its file. Without one the release is not
// signed; a version with a tag is not released then. A rehearsal is never signed and needs no key.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

// programs are what belongs together: each is looked for beside yuba.
var programs = []string{"yuba", "yuba-runner", "yuba-sandbox", "yuba-kustomize", "yuba-sops"}

// thisPlatform is the one whose programs start here.
var thisPlatform = platform{runtime.GOOS, runtime.GOARCH}

// Platforms are those that are released.
const allPlatforms = "linux/amd64,linux/arm64"

// release is what is made.
type release struct {
	// root is the repository, out is where the release goes.
	root, out string
	version   version
	// date is that of the commit: it is the time of all that is written.
	date time.Time
	// built has the programs of this platform; empty where they are to be built.
	built string
	// tags are those that the programs are built with, flags are the linker's.
	tags, flags string
	// rehearsal is true where the version need not be the commit's tag. A signature would make it a release.
	rehearsal bool
	// packages is false where archives are enough.
	packages bool
	key      *signingKey
	news     io.Writer
}

func run(ctx context.Context, args []string, news io.Writer) error {
	r := release{news: news}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	platforms := flags.String("platforms", allPlatforms, "the platforms to build for")
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
	var wanted []platform
	for _, text := range strings.FieldsFunc(*platforms, func(c rune) bool { return c == ',' || c == ' ' }) {
		p, err := parsePlatform(text)
		if err != nil {
			return err
		}
		wanted = append(wanted, p)
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

// settle finds out what is to be released, and refuses what should not be.
func (r *release) settle(ctx context.Context, name, epoch string) (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if name == "" {
		if name, err = r.git(ctx, "describe", "--tags", "--always", "--dirty"); err != nil {
			return err
		}
	}
	if r.version, err = parseVersion(name); err != nil {
		return err
	}
	if err := r.checkTag(ctx); err != nil {
		return err
	}
	if epoch == "" {
		if epoch, err = r.git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time %q: want seconds since 1970", epoch)
	}
	r.date = time.Unix(seconds, 0).UTC()
	if r.rehearsal {
		return nil // without a key
	}
	if r.key, err = readSigningKey(os.Getenv(keyVariable)); err != nil {
		return err
	}
	if r.key == nil && r.version.tagged {
		return fmt.Errorf("release %s: a version with a tag is released with a signature only, and $%s is not set%s", r.version.name, keyVariable, r.hint())
	}
	return nil
}

// hint says how to try a release that is refused.
func (r *release) hint() string {
	return fmt.Sprintf("\nTo try the release without publishing it:\n    make release VERSION=%s REHEARSAL=1", r.version.name)
}

// checkTag refuses a version whose tag is not at the commit of the checkout: what people install under a version is what its
// tag names.
func (r *release) checkTag(ctx context.Context) error {
	if !r.version.tagged || r.rehearsal {
		return nil
	}
	tags, err := r.git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return fmt.Errorf("compare version %s with the tags of the commit: %w", r.version.name, err)
	}
	if !slices.Contains(strings.Fields(tags), r.version.name) {
		return fmt.Errorf("release %s: the checkout's commit does not have that tag, it has %q%s", r.version.name, strings.Fields(tags), r.hint())
	}
	// Go compiles files that git does not track, and git's configuration can hide those.
	changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return fmt.Errorf("look for changes since tag %s: %w", r.version.name, err)
	}
	if changed != "" {
		return fmt.Errorf("release %s: the checkout has changes that are not committed:\n%s%s", r.version.name, changed, r.hint())
	}
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// begin makes the directory, and removes a release from it that was there before.
func (r *release) begin() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	err := os.RemoveAll(r.buildDir())
	for _, pattern := range []string{"yuba_*", "yuba-*", "yuba.pub"} {
		old, globErr := filepath.Glob(filepath.Join(r.out, pattern))
		err = errors.Join(err, globErr)
		for _, path := range old {
			err = errors.Join(err, os.Remove(path)) // a directory that is not empty is not ours
		}
	}
	return err
}

// make writes what is released for a platform, and returns the names of the files.
func (r *release) make(ctx context.Context, p platform) ([]string, error) {
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

// fileName begins the names of a platform's files.
func (r *release) fileName(p platform) string {
	return fmt.Sprintf("yuba_%s_%s_%s", r.version.plain, p.os, p.arch)
}

// programs returns a directory with the platform's programs.
func (r *release) programs(ctx context.Context, p platform) (string, error) {
	if r.built != "" {
		if p != thisPlatform {
			return "", fmt.Errorf("-programs %s has those of %s/%s", r.built, runtime.GOOS, runtime.GOARCH)
		}
		return r.built, nil
	}
	return r.build(ctx, p)
}

// finish writes the checksums and what else concerns all files.
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
	list := fmt.Sprintf("yuba_%s_SHA256SUMS", r.version.plain)
	if err := os.WriteFile(filepath.Join(r.out, list), sums, 0o644); err != nil {
		return err
	}
	// By this file install.sh learns which version is the newest.
	if err := os.WriteFile(filepath.Join(r.out, "yuba_version.txt"), []byte(r.version.plain+"\n"), 0o644); err != nil {
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
