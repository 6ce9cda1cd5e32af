// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// Bound is what a decision is about: a decision, or an approval, holds for nothing else.
type Bound struct {
	// Stack is NAMESPACE/NAME, and UID the object's.
	Stack string `json:"stack"`
	UID   string `json:"uid"`
	// Stage is the stage of the facts.
	Stage string `json:"stage"`
	// Plan is the digest of the saved plan, Facts that of the document that was judged.
	Plan  string `json:"plan"`
	Facts string `json:"facts,omitempty"`
	// LockFile and Source are the digests of the lock file and of the artifact.
	LockFile string `json:"lockFile,omitempty"`
	Source   string `json:"source,omitempty"`
	// StateSerial and StateLineage are those of the state that was planned on.
	StateSerial  int64  `json:"stateSerial"`
	StateLineage string `json:"stateLineage,omitempty"`
	// Policies are the digests of the policies' specs, by name; Bundles those of their bundles of
	// rules.
	Policies map[string]string `json:"policies,omitempty"`
	Bundles  map[string]string `json:"bundles,omitempty"`
	// Revisions are the pinned revisions of contracts, by contract.
	Revisions map[string]string `json:"revisions,omitempty"`
}

// Hash returns the canonical hash, "sha256:" and hex digits. Different values have different hashes:
// each text is written with its length. Maps have no order, and nil is an empty map.
func (b Bound) Hash() string {
	h := sha256.New()
	write(h, "yuba policy decision 1", b.Stack, b.UID, b.Stage, b.Plan, b.Facts, b.LockFile, b.Source, b.StateLineage)
	number(h, uint64(b.StateSerial))
	for _, m := range []map[string]string{b.Policies, b.Bundles, b.Revisions} {
		number(h, uint64(len(m)))
		for _, key := range slices.Sorted(maps.Keys(m)) {
			write(h, key, m[key])
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func write(h hash.Hash, texts ...string) {
	for _, text := range texts {
		number(h, uint64(len(text)))
		h.Write([]byte(text)) //nolint:errcheck // a hash never fails
	}
}

func number(h hash.Hash, n uint64) {
	h.Write(binary.BigEndian.AppendUint64(nil, n)) //nolint:errcheck // a hash never fails
}
