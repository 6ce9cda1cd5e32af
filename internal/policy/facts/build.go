// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// Inputs are what the facts are computed from.
type Inputs struct {
	Stage Stage
	// Show is the output of `tofu show -json` for the saved plan; in the stage PrePlan that of
	// `tofu show -json -module=DIR` or -config. It is only read.
	Show []byte
	// LockFile is the dependency lock file; nil for none.
	LockFile []byte
	// ModuleList is .terraform/modules/modules.json; nil for none. ModuleDigests are the digests of
	// the packages by the calls' keys.
	ModuleList    []byte
	ModuleDigests map[string]string
	// Hidden knows secrets that the plan may not mark; nil for none.
	Hidden *mask.Masker

	// The rest is taken over. Build computes Digests.LockFile if it is empty.
	Stack     Stack
	Run       Run
	Digests   Digests
	Contracts []Contract
}

// Build computes the document. Its errors mean that nothing is known: a caller must not decide
// without the document.
func Build(in Inputs) (*Document, error) {
	return nil, errors.New("build the facts: not implemented")
}
