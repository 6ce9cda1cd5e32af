// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "cmp"

// Inputs are the part of a stack's configuration that is not in its spec, to find which inputs
// changed between two runs.
type Inputs struct {
	// Part is the digest of the part of the source that the stack reads, Dirs its directories.
	// Otherwise the whole archive counts, for the reason in Whole.
	Part  string   `json:"part,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// Unsettled is Part if modules from elsewhere had been known to be settled.
	Unsettled string `json:"unsettled,omitempty"`
	// Outputs are the digests of the outputs of its dependencies, by name.
	Outputs map[string]string `json:"outputs,omitempty"`
}

// MayBe is Part, or what it turned out to be later.
func (i Inputs) MayBe() string { return cmp.Or(i.Part, i.Unsettled) }
