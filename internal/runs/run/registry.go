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
	// Revoked is true if the stack has revoked versions of modules, and may keep them in this run: see
	// [Spec.KeepsRevoked].
	Revoked bool `json:"revoked,omitempty"`
}

// Revoked says which revoked versions of modules a download may get, as the value of [HeaderRevoked].
type Revoked string

// The values of Revoked. AllRevoked is what older runners send.
const (
	NoRevoked   Revoked = ""
	UsedRevoked Revoked = "used"
	AllRevoked  Revoked = "1"
)

// KeepsRevoked reports whether the run may get the revoked versions that its stack has. Only an upgrade
// must do without them.
func (s *Spec) KeepsRevoked() bool { return s.Destroy || !s.Upgrade }

// Allows reports whether the run may ask for these versions.
func (s *Spec) Allows(r Revoked) bool {
	return s.Destroy || r == UsedRevoked && s.KeepsRevoked()
}

// RevokedFor are the kinds of versions to ask the registry for, one after the other. A stack keeps the
// versions that it has: another one may not fit its program. Only a run that destroys may get revoked
// versions that the stack never had, when nothing else is left.
func (s *Spec) RevokedFor() []Revoked {
	first := NoRevoked
	if s.Registry != nil && s.Registry.Revoked && s.KeepsRevoked() {
		first = UsedRevoked
	}
	if s.Destroy {
		return []Revoked{first, AllRevoked}
	}
	return []Revoked{first}
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
	// HeaderRevoked asks for revoked versions, too: see [Revoked].
	HeaderRevoked = "Yuba-Registry-Revoked"
)
