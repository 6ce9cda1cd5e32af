// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// MaxSums limits a list of sums: hundreds of platforms have less than 100 KiB.
const MaxSums = 1 << 20

// Sums are the SHA-256 sums of a release's files in hexadecimal, by file name.
type Sums map[string]string

// ParseSums parses a list of sums as sha256sum writes it.
func ParseSums(text []byte) (Sums, error) {
	if len(text) > MaxSums {
		return nil, fmt.Errorf("the list of checksums has more than %d bytes", MaxSums)
	}
	sums := Sums{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("the list of checksums, line %d: %q is not a checksum and a file name", number, shorten.Cut(strings.TrimSpace(line), 80))
		}
		sum, name := strings.ToLower(fields[0]), strings.TrimPrefix(fields[1], "*")
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("the list of checksums, line %d: %q is not a SHA-256 sum in hexadecimal", number, shorten.Cut(fields[0], 80))
		}
		if before, twice := sums[name]; twice && before != sum {
			return nil, fmt.Errorf("the list of checksums, line %d: %s has two checksums", number, shorten.Cut(name, 120))
		}
		sums[name] = sum
	}
	return sums, nil
}

// Packages returns the packages of the version whose archives are in the list.
func (s Sums) Packages(v layout.ProviderVersion) map[layout.Platform]Package {
	out := map[layout.Platform]Package{}
	for name, sum := range s {
		if f, ok := layout.ProviderOfKey(v.Key(name)); ok && f.ProviderVersion == v && f.Platform != (layout.Platform{}) {
			out[f.Platform] = Package{Hashes: []string{"zh:" + sum}}
		}
	}
	return out
}
