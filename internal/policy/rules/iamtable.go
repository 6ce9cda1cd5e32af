// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// IAMProvider is the part of the list of no-iam that is about one provider.
type IAMProvider struct {
	// Name is the beginning of its types.
	Name string
	// Types are patterns of types of which every change counts. Attributes are those of its other
	// resources that count, and Harmless are types that are left out.
	Types, Attributes, Harmless []string
}

// IAMManifest is a group of kinds of Kubernetes whose manifests count for no-iam.
type IAMManifest struct {
	Group string
	Kinds []string
}

// IAMList returns the list of no-iam by provider, in its order, with the manifests sorted by group.
func IAMList() ([]IAMProvider, []IAMManifest) {
	var all []*IAMProvider
	of := func(pattern string) *IAMProvider {
		name, _, _ := strings.Cut(pattern, "_")
		at := slices.IndexFunc(all, func(p *IAMProvider) bool { return p.Name == name })
		if at < 0 {
			all, at = append(all, &IAMProvider{Name: name}), len(all)
		}
		return all[at]
	}
	for _, t := range iamTypes {
		p := of(t)
		p.Types = append(p.Types, t)
	}
	for _, row := range iamAttributes {
		for _, pattern := range row.types {
			of(pattern).Attributes = slices.Compact(slices.Sorted(slices.Values(row.names)))
		}
	}
	for _, t := range iamHarmless {
		p := of(t)
		p.Harmless = append(p.Harmless, t)
	}
	var manifests []IAMManifest
	for _, group := range slices.Sorted(maps.Keys(manifestKinds)) {
		manifests = append(manifests, IAMManifest{cmp.Or(group, "core"), slices.Clone(manifestKinds[group])})
	}
	providers := make([]IAMProvider, 0, len(all))
	for _, p := range all {
		slices.Sort(p.Types)
		providers = append(providers, *p)
	}
	return providers, manifests
}
