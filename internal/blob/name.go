// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"fmt"
	"strings"
)

// Limits of a key: a segment is a file name (255 bytes on the usual file systems), a key an object name (1024 on S3).
const (
	maxKey     = 1024
	maxSegment = 255
)

// ValidateKey says whether a key is safe on every kind of store: segments of letters, digits and "._~:@+=,-", divided
// by single slashes, none of them starting with a dot. So a key can neither leave its directory nor meet the store's
// own files, whose names start with a dot. A directory cannot hold both "a" and "a/b": callers give no blob a key that is
// the directory of another.
func ValidateKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("blob key of %d bytes is longer than %d", len(key), maxKey)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := validateSegment(segment); err != nil {
			return fmt.Errorf("blob key %q: %w", key, err)
		}
	}
	return nil
}

func validateSegment(segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("a segment is empty")
	case segment[0] == '.':
		return fmt.Errorf("segment %q starts with a dot", segment)
	case len(segment) > maxSegment:
		return fmt.Errorf("segment %.16q… is longer than %d bytes", segment, maxSegment)
	}
	for _, c := range []byte(segment) {
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && !strings.ContainsRune("._~:@+=,-", rune(c)) {
			return fmt.Errorf("segment %q has the character %q", segment, c)
		}
	}
	return nil
}

// validatePrefix allows what starts some valid key: "", "runs/", "runs/team-".
func validatePrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return ValidateKey(strings.TrimSuffix(prefix, "/"))
}

// hidden tells the store's own objects from blobs.
func hidden(key string) bool {
	return strings.HasPrefix(key, ".") || strings.Contains(key, "/.")
}
