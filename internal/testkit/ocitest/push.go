// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ocitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
)

// Files are the files of an artifact: paths, with slashes, and contents.
type Files map[string]string

// Push pushes files as an artifact, like "flux push artifact", and returns its digest: sha256:….
func (r *Registry) Push(t T, repository, tag string, files Files) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ocitest-")
	if err != nil {
		t.Fatalf("push %s:%s: %v", repository, tag, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("push %s:%s: %v", repository, tag, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatalf("push %s:%s: %v", repository, tag, err)
		}
	}
	return r.PushTree(t, repository, tag, dir)
}

// PushTree pushes a directory as an artifact, like "flux push artifact", and returns its digest.
func (r *Registry) PushTree(t T, repository, tag, dir string) string {
	t.Helper()
	meta := oci.Metadata{Source: "https://example.com/" + repository, Revision: tag + "@sha1:0000000000000000000000000000000000000000",
		// Equal files have equal artifacts.
		Created: time.Unix(0, 0).UTC().Format(time.RFC3339)}
	name, err := oci.NewClient(r.Options()).Push(context.Background(), r.Host()+"/"+repository+":"+tag, dir, oci.WithPushMetadata(meta))
	if err != nil {
		t.Fatalf("push %s:%s: %v", repository, tag, err)
	}
	_, digest, _ := strings.Cut(name, "@")
	return digest
}

// Tag adds another tag to an artifact, or moves it.
func (r *Registry) Tag(t T, repository, from, to string) {
	t.Helper()
	if _, err := oci.NewClient(r.Options()).Tag(context.Background(), r.Host()+"/"+repository+":"+from, to); err != nil {
		t.Fatalf("tag %s:%s as %s: %v", repository, from, to, err)
	}
}

// Options give go-containerregistry access. Requests with them are not counted.
func (r *Registry) Options() []crane.Option {
	options := []crane.Option{crane.WithUserAgent(ours), crane.WithTransport(r.transport())}
	if !r.tls {
		options = append(options, crane.Insecure)
	}
	if r.username != "" || r.password != "" {
		options = append(options, crane.WithAuth(&authn.Basic{Username: r.username, Password: r.password}))
	}
	return options
}
