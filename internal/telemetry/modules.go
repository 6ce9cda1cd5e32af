// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"slices"
)

// ModuleUse says how many stacks use a version of a module of this registry.
type ModuleUse struct {
	Module, Version string
	Stacks          int
	// Notice is deprecated or revoked; else empty.
	Notice string
}

// maxModuleVersions limits the series of modules.
const maxModuleVersions = 500

// collectModules sends the most used versions, and the others as one.
func collectModules(send sample, uses []ModuleUse) {
	uses = slices.SortedFunc(slices.Values(uses), func(a, b ModuleUse) int {
		return cmp.Or(b.Stacks-a.Stacks, cmp.Compare(a.Module, b.Module), cmp.Compare(a.Version, b.Version))
	})
	rest, notices := 0, map[string]int{"deprecated": 0, "revoked": 0}
	for i, u := range uses {
		if _, known := notices[u.Notice]; known {
			notices[u.Notice] += u.Stacks
		}
		if i >= maxModuleVersions || len(u.Module) > 2*maxLabel || len(u.Version) > maxLabel {
			rest += u.Stacks
			continue
		}
		send(&moduleStacks, float64(u.Stacks), u.Module, u.Version)
	}
	if rest > 0 {
		send(&moduleStacks, float64(rest), others, others)
	}
	for notice, n := range notices {
		send(&noticeStacks, float64(n), notice)
	}
}
