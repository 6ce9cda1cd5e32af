// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Constraint is a range of versions. The zero value allows all.
type Constraint struct{ parts []part }

// part is one comparison, such as "~> 1.2".
type part struct {
	operator string
	version  *semver.Version
	// numbers is how many numbers were written: "~> 1.2" and "~> 1.2.0" are different.
	numbers int
	text    string
}

var plainPart = regexp.MustCompile(`^\s*(=|!=|>=|<=|>|<|~>)?\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,2})((?:-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?)\s*$`)

// maxParts limits the comparisons of one constraint.
const maxParts = 100

// ParseConstraint parses comparisons that are separated by commas. An empty text allows all versions.
func ParseConstraint(text string) (Constraint, error) {
	var c Constraint
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		m := plainPart.FindStringSubmatch(one)
		if m == nil || len(c.parts) == maxParts {
			return Constraint{}, fmt.Errorf("the versions %q: expected a version, or comparisons such as \"<2\" or \"~> 1.2, != 1.2.5\"", shorten.Cut(text, 80))
		}
		v, err := semver.NewVersion(m[2] + m[3])
		if err != nil {
			return Constraint{}, fmt.Errorf("the version %q: %w", shorten.Cut(one, 80), err)
		}
		p := part{operator: m[1], version: v, numbers: 1 + strings.Count(m[2], "."), text: strings.TrimSpace(one)}
		if p.operator == "" {
			p.operator = "="
		}
		c.parts = append(c.parts, p)
	}
	return c, nil
}

// Allows reports whether the tool may choose the version: like the tool, it takes a pre-release only
// if it is named exactly.
func (c Constraint) Allows(v *semver.Version) bool {
	if v.Prerelease() != "" {
		return len(c.parts) == 1 && c.parts[0].operator == "=" && c.parts[0].version.Equal(v)
	}
	return c.Covers(v)
}

// Covers reports whether the version is in the range, pre-releases included.
func (c Constraint) Covers(v *semver.Version) bool {
	for _, p := range c.parts {
		if !p.covers(v) {
			return false
		}
	}
	return true
}

func (p part) covers(v *semver.Version) bool {
	order := v.Compare(p.version)
	switch p.operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	}
	return order >= 0 && (p.numbers < 3 || v.Minor() == p.version.Minor()) && (p.numbers < 2 || v.Major() == p.version.Major())
}

// parse returns the version, or nil if the text is none.
func parse(text string) *semver.Version {
	v, err := semver.NewVersion(strings.TrimPrefix(text, "v"))
	if err != nil {
		return nil
	}
	return v
}

// Compare orders versions; a text that is not a version comes first.
func Compare(a, b string) int {
	v, w := parse(a), parse(b)
	switch {
	case v == nil && w == nil:
		return strings.Compare(a, b)
	case v == nil:
		return -1
	case w == nil:
		return 1
	}
	return v.Compare(w)
}

// IsRange reports whether a text could be a constraint, to find the end of a source in a query.
func IsRange(text string) bool {
	if text == "" {
		return false
	}
	if _, err := strconv.Atoi(text[:1]); err != nil && !strings.ContainsAny(text[:1], "=!<>~v") {
		return false
	}
	_, err := ParseConstraint(text)
	return err == nil
}
