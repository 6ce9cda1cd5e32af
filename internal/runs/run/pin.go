// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

// Pin is the revision of a contract that a run reads.
type Pin struct {
	// As is the variable, Contract and From the contract and NAMESPACE/NAME of its producer.
	As       string `json:"as"`
	Contract string `json:"contract"`
	From     string `json:"from"`
	// Version, Number and Digest are empty if nobody published it, and the variable is null.
	Version string `json:"version,omitempty"`
	Number  int64  `json:"number,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Part is the digest of the part that the stack reads.
	Part string `json:"part"`
}
