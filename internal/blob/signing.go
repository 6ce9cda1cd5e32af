// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// signingPurpose separates the key from others that may be derived in the same way.
const signingPurpose = "yuba sealed archive signing key v1"

// SigningKey is the key with which the owner of the store signs archives. It is derived from the
// store's identity: all replicas have the same one, it is in each backup of that, and it is the same
// for the whole life of the store.
func (s *Store) SigningKey() (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(s.identity.String()), nil, signingPurpose, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the key that signs archives: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
