// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// digestPurpose separates the keys of digests from others that are derived from the identity.
const digestPurpose = "yuba digests of hidden texts v1"

// Digest returns a digest of a text that must not be shown, such as a password: "KEY-DIGEST", both of eight hexadecimal
// digits. Only who has the store's identity can compute it. Different owners have different keys, so that nobody can
// use an object of their own to try texts on the digests of another.
func (s *Store) Digest(owner, text string) string {
	key := authenticate(authenticate([]byte(s.identity.String()), digestPurpose), owner)
	name := sha256.Sum256(key)
	return hex.EncodeToString(name[:4]) + "-" + hex.EncodeToString(authenticate(key, text)[:4])
}

func authenticate(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text)) //nolint:errcheck // a hash never fails
	return mac.Sum(nil)
}
