// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// needs are the constraints on a provider's version in the tree of a root.
type needs struct {
	text string
	dir  string
}

// versions reports providers of which the modules of a root together allow no version.
func (c *check) versions(root string) {
	all := map[string][]needs{}
	c.collect(root, all, map[string]bool{})
	for _, source := range slices.Sorted(maps.Keys(all)) {
		list := all[source]
		var texts, said []string
		for _, n := range list {
			texts = append(texts, n.text)
			said = append(said, fmt.Sprintf("%s wants %q", n.dir, n.text))
		}
		if !satisfiable(texts) {
			slices.Sort(said)
			c.fail(VersionConflict, c.Modules[root], module.Position{}, source, "no version of %s suits all modules: %s", source, strings.Join(slices.Compact(said), ", "))
		}
	}
}

// collect adds the constraints of a module and of those that it calls.
func (c *check) collect(dir string, all map[string][]needs, seen map[string]bool) {
	m := c.Modules[dir]
	if m == nil || seen[dir] {
		return
	}
	seen[dir] = true
	for name, p := range m.RequiredProviders {
		if p.Version != "" {
			source := sourceOf(name, p)
			all[source] = append(all[source], needs{p.Version, dir})
		}
	}
	for _, call := range m.Wiring.Calls {
		if at, local := callee(dir, call.PlacedCall); local {
			c.collect(at, all, seen)
		}
	}
}

func sourceOf(name string, p module.Provider) string { return cmp.Or(p.Source, "hashicorp/"+name) }

var versionText = regexp.MustCompile(`(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?`)

// satisfiable reports whether any version suits all constraints. It tries the versions at their
// bounds and after them: a set of versions that is not empty begins at one of these.
func satisfiable(texts []string) bool {
	var sets []inspect.Constraints
	candidates := []string{"0.0.0"}
	for _, text := range texts {
		set, err := inspect.ParseConstraints(text)
		if err != nil {
			continue // tofu explains it
		}
		sets = append(sets, set)
		for _, parts := range versionText.FindAllStringSubmatch(text, 64) {
			major, minor, patch := number(parts[1]), number(parts[2]), number(parts[3])
			candidates = append(candidates, fmt.Sprintf("%d.%d.%d", major, minor, patch), fmt.Sprintf("%d.%d.%d", major, minor, patch+1))
		}
	}
	return slices.ContainsFunc(candidates, func(version string) bool { return allow(sets, version) })
}

func allow(sets []inspect.Constraints, version string) bool {
	return !slices.ContainsFunc(sets, func(set inspect.Constraints) bool { return !set.Allow(version) })
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // empty means 0, and the pattern has digits only
	return n
}

// removal is a block that a provider does not have any more.
type removal struct {
	source, provider, block string
	// since is the first version without it.
	since string
}

// removals are known changes of provider configurations, from the upgrade guides of the providers.
var removals = []removal{
	{"hashicorp/helm", "helm", "kubernetes", "3.0.0"},
	{"hashicorp/helm", "helm", "registry", "3.0.0"},
	{"hashicorp/helm", "helm", "experiments", "3.0.0"},
}

// blocks reports blocks of provider configurations that allowed versions of the provider do not have.
func (c *check) blocks(m *Module) {
	for name, block := range m.Wiring.Providers {
		local, _, _ := strings.Cut(name, ".")
		required := m.RequiredProviders[local]
		for _, r := range removals {
			if sourceOf(local, required) != r.source || !slices.Contains(block.Blocks, r.block) {
				continue
			}
			set, err := inspect.ParseConstraints(cmp.Or(required.Version, ">= 0"))
			if err == nil && set.Allow(r.since) {
				c.warn(RemovedBlock, m, block.Pos, "provider."+name, "%s %s and later have no block %q, and the constraint %q allows them: exclude them with \"< %s\", or write %s = { … }",
					r.source, r.since, r.block, required.Version, r.since, r.block)
			}
		}
	}
}
