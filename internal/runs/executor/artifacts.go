// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"maps"
	"slices"
)

// Artifacts lists the digests of the source archives that the runs in hand work on or will.
func (e *Executor) Artifacts() []string {
	e.mu.Lock()
	entries := slices.Collect(maps.Values(e.hand))
	e.mu.Unlock()
	digests := make([]string, 0, len(entries))
	for _, en := range entries {
		digests = append(digests, en.record().Spec.Artifact.Digest)
	}
	return digests
}
