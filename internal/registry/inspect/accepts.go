// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Constraints is a set of versions, in tofu's form: "~> 1.2, != 1.2.5".
type Constraints struct{ set *allowed }

// ParseConstraints parses a list of constraints with commas.
func ParseConstraints(text string) (Constraints, error) {
	set := parse([]string{text})
	if set.unreadable {
		return Constraints{}, fmt.Errorf(`the constraint %q: expected terms such as ">= 1.2, < 2" or "~> 1.2"`, shorten.Cut(text, 80))
	}
	return Constraints{set}, nil
}

// Allow reports whether a version is in the set. Pre-releases are between releases.
func (c Constraints) Allow(version string) bool {
	v, err := semver.StrictNewVersion(version)
	return err == nil && !c.set.nothing && c.set.has(v)
}
