// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// Hash returns the canonical hash, "sha256:" and hex digits. Equal values have equal hashes: nil and
// empty maps are equal, and maps have no order.
func (b Bound) Hash() string {
	// JSON of a struct has its fields in order, and encoding/json sorts the keys of maps.
	text, err := json.Marshal(struct {
		Domain string `json:"domain"`
		Bound
	}{"yuba policy decision 1", b})
	if err != nil {
		return "" // impossible: strings and numbers only
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
