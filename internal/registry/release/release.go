// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// DefaultProtocols are the plugin protocols of a provider that does not say which it speaks.
var DefaultProtocols = []string{"5.0", "6.0"}

// Version is an entry in the list of a provider's versions.
type Version struct {
	Version   string
	Protocols []string
	Platforms []layout.Platform
	// Published is when this registry got the version; zero if it did not record that.
	Published time.Time
}

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
func (r Release) Platforms() []layout.Platform { return SortPlatforms(slices.Collect(maps.Keys(r.Packages))) }

// Complete returns the packages of which the size is known, too, if the package of the platform is
// one of them; else nil. OpenTofu 1.12 refuses an answer whose "packages" lack that platform or its
// size, and accepts one without "packages".
func (r Release) Complete(p layout.Platform) map[layout.Platform]Package {
	if r.Packages[p].Size <= 0 {
		return nil
	}
	complete := map[layout.Platform]Package{}
	for platform, pkg := range r.Packages {
		if pkg.Size > 0 {
			complete[platform] = pkg
		}
	}
	return complete
}

// SortPlatforms sorts platforms by their names.
func SortPlatforms(list []layout.Platform) []layout.Platform {
	slices.SortFunc(list, func(a, b layout.Platform) int { return cmp.Compare(a.String(), b.String()) })
	return list
}

// Archive is the open archive of a platform. It must be closed. In a directory its reader is an
// [io.ReadSeeker], too.
type Archive struct {
	io.ReadCloser
	Name     string
	Size     int64
	Modified time.Time
	// SHA256 is the sum in hexadecimal.
	SHA256 string
}
