// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package offer

import (
	"errors"
	"io"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

var (
	// ErrNone is wrapped by errors that say that a provider, version, platform or file does not exist.
	ErrNone = errors.New("does not exist")
	// ErrRefused is wrapped by errors that say that a rule of this registry forbids what was asked.
	ErrRefused = errors.New("is not allowed")
	// ErrUpstream is wrapped by errors that say that another registry did not answer, or not well.
	ErrUpstream = errors.New("the origin failed")
)

// Version is one version of a provider.
type Version struct {
	Version string
	// Protocols are those of the plugin, such as 5.0; empty if they are unknown.
	Protocols []string
	Platforms []layout.Platform
	// Warning is shown to users of the version; usually empty.
	Warning string
	// Unverified is as in [Release].
	Unverified string
}

// Release is a version with its packages.
type Release struct {
	layout.ProviderVersion
	Protocols []string
	Packages  map[layout.Platform]Package
	Keys      []Key
	// Unverified is why no key of the release verifies its signature. Who does not verify it must not
	// get it. It is empty for a verified release.
	Unverified string
}

// Package is the archive of a platform.
type Package struct {
	// File is the archive's name, as in [layout.ProviderVersion.Archive].
	File string
	// SHA256 is the archive's checksum in hexadecimal.
	SHA256 string
	// Hashes are in the notation of lock files: "h1:…" of the content if it is known, and "zh:…".
	Hashes []string
	// Size is in bytes; 0 while it is unknown.
	Size int64
}

// Key is a public key that signs the checksums, in the form in which registries pass it on.
type Key struct {
	ID             string `json:"key_id"`
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
	Source         string `json:"source"`
	SourceURL      string `json:"source_url"`
}

// File is an open file. Content is an [io.Seeker] if parts of it can be read.
type File struct {
	Content io.ReadCloser
	Size    int64 // -1 if it is unknown
	// Digest is "sha256:" and the content's checksum in hexadecimal; empty if it is unknown.
	Digest   string
	Modified time.Time
}
