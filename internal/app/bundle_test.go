// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/bundle"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

// bundled makes a bundle with OpenTofu and a provider, and takes their origins away.
func bundled(t *testing.T) (file, key, digest string, v layout.ProviderVersion) {
	t.Helper()
	dir := t.TempDir()
	parts := filepath.Join(dir, "parts")
	modules := filepath.Join(dir, "modules")
	if err := errors.Join(os.Mkdir(parts, 0o700), os.Mkdir(modules, 0o700), os.WriteFile(filepath.Join(modules, "main.tf"), nil, 0o600),
		os.WriteFile(filepath.Join(modules, "terraform.tfstate"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	here := layout.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	origin := registrytest.New(t)
	origin.PublishRelease("acme/thing", "1.0.0", registrytest.Release{Archives: map[string][]byte{here.String(): registrytest.Zip(t, registrytest.Program("thing", "1.0.0"))}})
	pem, err := os.ReadFile(origin.CAFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	provider, err := layout.ParseProvider(origin.Source("acme/thing"))
	if err != nil {
		t.Fatal(err)
	}
	v = layout.ProviderVersion{Provider: provider, Version: "1.0.0"}
	releases := releasetest.New(t)
	releases.Publish(opentofu.Pinned, []byte("#!/bin/sh\necho '{\"terraform_version\": \""+opentofu.Pinned+"\"}'\n"))
	content := bundle.Content{Tools: []string{opentofu.Pinned}, ToolSource: opentofu.Source{URL: releases.URL, KeyFile: releases.KeyFile},
		Platforms: []layout.Platform{here}, Modules: []string{modules}}
	for range 2 { // the second continues the first, and fetches no archive again
		if err := bundle.Collect(t.Context(), content, parts, func(string, ...any) {}); err != nil {
			t.Fatal(err)
		}
	}
	if asked := releases.Asked(); strings.Count(strings.Join(asked, "\n"), ".tar.gz") != 1 {
		t.Errorf("asked for %q", asked)
	}
	// Collect would need the origin's certificate, and removes what no module names.
	providers, err := os.Create(filepath.Join(parts, bundle.ProvidersFile))
	if err != nil {
		t.Fatal(err)
	}
	err = mirror.Export(t.Context(), []mirror.Want{{ProviderVersion: v}}, []layout.Platform{here}, mirror.Options{Roots: roots, Allow: []string{origin.Host() + "/*/*"}}, dir, providers, func(mirror.Carried) {})
	if err := errors.Join(err, providers.Close()); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	s, err := bundle.Pack(t.Context(), parts, &archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Files {
		if strings.Contains(f.Path, "tfstate") {
			t.Errorf("the bundle has a state: %s", f.Path)
		}
	}
	file = filepath.Join(dir, "bundle.tar")
	if err := os.WriteFile(file, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	origin.SetDown(true)
	releases.Cut(opentofu.Pinned)
	return file, releases.KeyFile, s.Digest, v
}

func TestABundleIsAllThatAServerNeeds(t *testing.T) {
	file, key, digest, v := bundled(t)
	dir := t.TempDir()
	program(t, dir, "yuba-sandbox", "")
	program(t, dir, "yuba-runner", "")
	t.Setenv("PATH", dir+":/bin")
	for range 2 { // a second start
		o := &Common{FetchTofu: true, News: io.Discard, Log: slog.New(slog.DiscardHandler), ToolSource: opentofu.Source{KeyFile: key}, Bundle: BundleOptions{Path: file, Digest: digest}}
		if err := o.useBundle(t.Context(), filepath.Join(dir, "bundle")); err != nil {
			t.Fatal(err)
		}
		got, err := findTool(t.Context(), o, filepath.Join(dir, "tools"))
		if err != nil || got.version != opentofu.Pinned {
			t.Fatalf("%+v, %v", got, err)
		}
		r, err := openRegistryParts(t.Context(), registryPlace{opts: o.Registry, dataRegistry: filepath.Join(dir, "registry"), spool: filepath.Join(dir, "spool"), log: o.Log})
		if err != nil {
			t.Fatal(err)
		}
		index, err := r.mirror.Index(t.Context(), v.Provider)
		if err != nil || len(index.Versions) != 1 || index.Versions[0].Version != "1.0.0" {
			t.Errorf("%+v, %v", index, err)
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBundlesThatAreNotUsed(t *testing.T) {
	file, _, digest, _ := bundled(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-2000] ^= 1
	damaged := filepath.Join(t.TempDir(), "damaged.tar")
	if err := os.WriteFile(damaged, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for says, o := range map[string]BundleOptions{
		"it is another bundle, or somebody changed it": {Path: file, Digest: "sha256:" + strings.Repeat("0", 64)},
		"damaged":      {Path: damaged, Digest: digest},
		"no such file": {Path: file + "x"},
	} {
		c := &Common{News: io.Discard, Bundle: o}
		below := filepath.Join(t.TempDir(), "bundle")
		if err := c.useBundle(t.Context(), below); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
		if left, err := os.ReadDir(below); len(left) > 0 || c.Registry.MirrorOffline {
			t.Errorf("%s: something is used: %v, %v", says, left, err)
		}
	}
}
