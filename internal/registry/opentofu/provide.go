// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
)

// Wish is a program that a run needs.
type Wish struct {
	// Tool is tofu or terraform, Range the versions that fit; empty for any.
	Tool, Range string
	// OS and Arch are the runner's platform.
	OS, Arch string
	// By is who needs it, for the record.
	By string
}

// Provision is a kept archive that fits a wish.
type Provision struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	// Archive is the name of the file, SHA256 its signed checksum.
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
}

// RefusedError says that no version can be provided, and what to do. Trying again is pointless until
// somebody does that.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// Provide finds the newest kept archive that fits, or downloads one if [Kept.Allow] allows it. tell is
// told what happens meanwhile. The error is a [RefusedError] if nothing fits.
func (k *Kept) Provide(ctx context.Context, w Wish, tell func(string)) (Provision, error) {
	source, known := k.Sources[w.Tool]
	if !known {
		return Provision{}, &RefusedError{fmt.Sprintf("there is no tool %q; the tools are tofu and terraform", w.Tool)}
	}
	fits := func(*semver.Version) bool { return true }
	if w.Range != "" {
		versions, err := parseRange(w.Range)
		if err != nil {
			return Provision{}, &RefusedError{err.Error()}
		}
		fits = versions.Check
	}
	if kept, found, err := k.fitting(ctx, w, fits); err != nil || found {
		return kept, err
	}
	version, err := k.choose(ctx, source, w, fits)
	if err != nil {
		return Provision{}, err
	}
	f := File{Tool: w.Tool, Version: version, Name: source.Archive(version, w.OS, w.Arch)}
	what := fmt.Sprintf("%s %s for %s/%s from %s", source.Product(), version, w.OS, w.Arch, source.Shown())
	tell("Downloading " + what)
	stop := k.watch(f, Quarters(func(done string) { tell("Downloading " + what + ": so far " + done) }))
	defer stop()
	if err := k.FetchBy(ctx, f, w.By); err != nil {
		return Provision{}, fmt.Errorf("download %s: %w. Yuba tries again with the next run; check that this server reaches %s, or name a mirror with %s", what, err, source.Shown(), source.flag())
	}
	sums, err := k.sums(ctx, f)
	if err != nil {
		return Provision{}, err
	}
	sum, _ := sumOf(sums, f.Name)
	return Provision{Tool: f.Tool, Version: version, Archive: f.Name, SHA256: sum}, nil
}

// fitting finds the newest kept archive for the platform.
func (k *Kept) fitting(ctx context.Context, w Wish, fits func(*semver.Version) bool) (Provision, bool, error) {
	list, err := k.List(ctx)
	if err != nil {
		return Provision{}, false, err
	}
	for _, kept := range list {
		v, err := semver.NewVersion(kept.Version)
		if kept.Tool != w.Tool || err != nil || !fits(v) || w.Range == "" && v.Prerelease() != "" {
			continue
		}
		archive := k.Sources[w.Tool].Archive(kept.Version, w.OS, w.Arch)
		for _, f := range kept.Files {
			if f.Name == archive && f.SHA256 != "" {
				return Provision{Tool: w.Tool, Version: kept.Version, Archive: archive, SHA256: f.SHA256}, true, nil
			}
		}
	}
	return Provision{}, false, nil
}

// choose chooses the version to download: the exact one, or the newest that the origin lists.
func (k *Kept) choose(ctx context.Context, source Source, w Wish, fits func(*semver.Version) bool) (string, error) {
	wanted := strings.TrimSpace(w.Tool + " " + w.Range)
	if !k.Allow.Any(w.Tool) {
		return "", &RefusedError{fmt.Sprintf("This server's registry does not keep %s for %s/%s, and the server may not download %s. Allow it when starting Yuba, for example:\n    yuba up --tools-allow '%s'",
			wanted, w.OS, w.Arch, source.Product(), cmp.Or(exampleRule(w), w.Tool))}
	}
	exact := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(w.Range), "="))
	if version, err := ParseVersion(exact); err == nil {
		if v, err := semver.NewVersion(version); err == nil && k.Allow.Allows(w.Tool, v) {
			return version, nil
		}
		return "", k.outside(wanted, w, source)
	}
	versions, err := source.versions(ctx)
	if err != nil {
		return "", fmt.Errorf("find which version is %s: %w. Name an exact version, which needs no list, or check that this server reaches %s", wanted, err, source.Shown())
	}
	allowed := 0
	for _, v := range versions {
		if !k.Allow.Allows(w.Tool, v) {
			continue
		}
		if allowed++; fits(v) {
			return v.Original(), nil
		}
	}
	return "", k.outside(wanted, w, source)
}

// outside says that the rules, or the origin, have no such version.
func (k *Kept) outside(wanted string, w Wish, source Source) error {
	return &RefusedError{fmt.Sprintf("This server's registry does not keep %s for %s/%s, and of the versions at %s the server may only download %s. Request another version, or start Yuba with a wider --tools-allow",
		wanted, w.OS, w.Arch, source.Shown(), k.Allow.about(w.Tool))}
}

func exampleRule(w Wish) string {
	if strings.Contains(w.Range, "|") || strings.ContainsAny(w.Range, "'\n") {
		return ""
	}
	return strings.TrimSpace(w.Tool + " " + w.Range)
}

// flag names the flag of the server that sets the origin.
func (s Source) flag() string {
	if s.Tool == Terraform {
		return "--tools-terraform-url"
	}
	return "--tools-url"
}

// watchers tell those who wait for a file about its download.
type watchers struct {
	mu sync.Mutex
	of map[string]map[int]func(done, total int64)
	n  int
}

// watch registers a function for the progress of a file, until stop.
func (k *Kept) watch(f File, tell func(done, total int64)) (stop func()) {
	w, key := &k.watchers, f.key(f.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]map[int]func(done, total int64){}
	}
	if w.of[key] == nil {
		w.of[key] = map[int]func(done, total int64){}
	}
	w.n++
	id := w.n
	w.of[key][id] = tell
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.of[key], id); len(w.of[key]) == 0 {
			delete(w.of, key)
		}
	}
}

// progress returns the function that tells all who wait for a file.
func (k *Kept) progress(f File) func(done, total int64) {
	w, key := &k.watchers, f.key(f.Name)
	return func(done, total int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, tell := range w.of[key] {
			tell(done, total)
		}
	}
}

// have reports whether a file is kept.
func (k *Kept) have(ctx context.Context, f File) (bool, error) {
	_, err := k.Bucket.Stat(ctx, f.key(f.Name))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
