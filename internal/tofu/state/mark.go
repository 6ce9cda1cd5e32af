// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import "fmt"

// Mark identifies the state that a writer started from, or wrote. The zero Mark means that there
// was none.
type Mark struct {
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
	// Digest is "sha256:" and the hex digest of the state's bytes.
	Digest string `json:"digest"`
}

func (m Mark) String() string {
	if m.Digest == "" {
		return "no state"
	}
	return fmt.Sprintf("serial %d (%.14s)", m.Serial, m.Digest)
}
