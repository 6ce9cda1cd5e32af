// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"fmt"
	"strings"
)

// Limits of a key: a segment is a file name (255 bytes on the usual file systems), a key is an
// object name (1024 bytes on S3).
const (
	maxKey     = 1024
	maxSegment = 255
)

// ValidateKey reports whether a key is valid on every kind of store: segments of letters, digits
// and "._~:@+=,-", separated by single slashes, without a dot at the beginning, as the store's own
// files do. A key must not be the directory of another: a directory cannot contain both "a" and
// "a/b".
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
			return fmt.Errorf("segment %q contains the character %q", segment, c)
		}
	}
	return nil
}

// validatePrefix accepts beginnings of valid keys: "", "runs/", "runs/team-".
func validatePrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return ValidateKey(strings.TrimSuffix(prefix, "/"))
}

// hidden reports whether an object is the store's own, not a blob.
func hidden(key string) bool {
	return strings.HasPrefix(key, ".") || strings.Contains(key, "/.")
}
