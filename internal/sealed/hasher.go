// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// hasher is a SHA-256 sum that begins with the first bytes.
type hasher struct{ sum hash.Hash }

func (h *hasher) add(p []byte) {
	if h.sum == nil {
		h.sum = sha256.New()
	}
	h.sum.Write(p) //nolint:errcheck // a hash takes everything
}

func (h *hasher) hex() string {
	h.add(nil)
	return hex.EncodeToString(h.sum.Sum(nil))
}
