// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// DefaultProtocols are the plugin protocols of a provider that does not say which it speaks.
var DefaultProtocols = []string{"5.0", "6.0"}

// Package is the archive of one platform.
type Package struct {
	// Hashes are "zh:", the archive's SHA-256 sum in hexadecimal, and "h1:", the hash of its content.
	// The latter is missing while nobody knows it.
	Hashes []string `json:"hashes"`
	// Size is the archive's in bytes; 0 while nobody knows it.
	Size int64 `json:"package_size,omitempty"`
}

// Hash returns the value after a scheme such as "h1:"; "" if the package has no such hash.
func (p Package) Hash(scheme string) string {
	for _, h := range p.Hashes {
		if value, ok := strings.CutPrefix(h, scheme); ok {
			return value
		}
	}
	return ""
}

// Release is one verified version of a provider.
type Release struct {
	layout.ProviderVersion
	Protocols []string
	// Keys are the public keys of the namespace, one of which signed. Empty for a release without
	// a signature, which only registry.opentofu.org may have.
	Keys []Key
	// Signer is the fingerprint of the key that signed.
	Signer string
	// SumsFile and SignatureFile are the files as they were published.
	SumsFile, SignatureFile []byte
	// Packages are those of all platforms.
	Packages map[layout.Platform]Package
	// Verified is when the sums were compared with the signature; Published when this registry got
	// the release.
	Verified, Published time.Time
}

// Platforms returns the platforms in their order.
func (r Release) Platforms() []layout.Platform {
	return SortPlatforms(slices.Collect(maps.Keys(r.Packages)))
}

// Offer returns the release as sources of providers describe it.
func (r Release) Offer() offer.Release {
	o := offer.Release{ProviderVersion: r.ProviderVersion, Protocols: r.Protocols, Packages: map[layout.Platform]offer.Package{}}
	for platform, pkg := range r.Packages {
		o.Packages[platform] = offer.Package{File: r.Archive(platform), SHA256: pkg.Hash("zh:"), Hashes: slices.Clone(pkg.Hashes), Size: pkg.Size}
	}
	for _, key := range r.Keys {
		o.Keys = append(o.Keys, offer.Key{ID: key.ID, ASCIIArmor: key.Armor, TrustSignature: key.TrustSignature, Source: key.Source, SourceURL: key.SourceURL})
	}
	return o
}

// File returns the list of sums or its signature; false for any other name.
func (r Release) File(name string) (offer.File, bool) {
	content := r.SumsFile
	switch name {
	case r.Sums():
	case r.Signature():
		content = r.SignatureFile
	default:
		return offer.File{}, false
	}
	sum := sha256.Sum256(content)
	return offer.File{Content: inMemory{bytes.NewReader(content)}, Size: int64(len(content)), Digest: "sha256:" + hex.EncodeToString(sum[:]), Modified: r.Verified}, true
}

// inMemory is a file that needs no closing.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// SortPlatforms sorts platforms by their names.
func SortPlatforms(list []layout.Platform) []layout.Platform {
	slices.SortFunc(list, func(a, b layout.Platform) int { return cmp.Compare(a.String(), b.String()) })
	return list
}
