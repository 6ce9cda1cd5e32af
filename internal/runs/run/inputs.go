// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "cmp"

// Inputs are what a stack's configuration depends on and its spec does not say. With the spec they tell which inputs
// changed between two runs.
type Inputs struct {
	// Part is the digest of the part of the source that the stack can read, Dirs its directories; without it the whole
	// archive counts, and Whole says why.
	Part  string   `json:"part,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// Unsettled is what Part would be if modules from elsewhere had been known to be settled.
	Unsettled string `json:"unsettled,omitempty"`
	// Outputs are the digests of the outputs of the stacks it depends on, by name.
	Outputs map[string]string `json:"outputs,omitempty"`
}

// MayBe is the digest of the part, also when it was known only later that no more counts.
func (i Inputs) MayBe() string { return cmp.Or(i.Part, i.Unsettled) }
