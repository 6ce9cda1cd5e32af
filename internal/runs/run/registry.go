// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"path"
	"slices"
	"strings"
)

// Registry is the server's registry of modules and providers. Downloads of the run reach it through
// the runner; older runners ignore it.
type Registry struct {
	// Host is its host in sources, with its port unless that is 443; empty if it has no address.
	Host string `json:"host"`
	// Mirror says which providers of other hosts it serves; nil for none.
	Mirror *Mirror `json:"mirror,omitempty"`
}

// Mirror selects providers by patterns of HOST/NAMESPACE/TYPE. A * matches any text without a
// slash; a pattern with fewer parts matches everything below it.
type Mirror struct {
	// Allow selects providers; empty for all. Deny excludes some of them.
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Serves reports whether the mirror serves this provider, HOST/NAMESPACE/TYPE.
func (m *Mirror) Serves(provider string) bool {
	if m == nil {
		return false
	}
	matches := func(pattern string) bool { return matchesProvider(pattern, provider) }
	return (len(m.Allow) == 0 || slices.ContainsFunc(m.Allow, matches)) && !slices.ContainsFunc(m.Deny, matches)
}

func matchesProvider(pattern, provider string) bool {
	parts := strings.Split(provider, "/")
	wanted := strings.Split(strings.Trim(pattern, "/"), "/")
	if len(wanted) > len(parts) {
		return false
	}
	for i, part := range wanted {
		if ok, err := path.Match(part, parts[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

const (
	// HeaderRegistry marks answers of the registry itself below /registry/. Others are the server's.
	HeaderRegistry = "Yuba-Registry"
	// HeaderRevoked asks for revoked versions, too. Only runs that destroy get them.
	HeaderRevoked = "Yuba-Registry-Revoked"
)
