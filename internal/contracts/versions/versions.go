// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Version is a version of a contract. The zero value is 0.0.0.
type Version struct{ v semver.Version }

var whole = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]{1,64})?$`)

// Parse parses a version of three numbers.
func Parse(text string) (Version, error) {
	if !whole.MatchString(text) {
		return Version{}, fmt.Errorf("the version %q: expected three numbers such as 1.2.0", shorten.Cut(text, 80))
	}
	v, err := semver.StrictNewVersion(text)
	if err != nil {
		return Version{}, fmt.Errorf("the version %q: %w", text, err)
	}
	return Version{*v}, nil
}

func (v Version) String() string { return v.v.String() }

// Compare orders versions.
func (v Version) Compare(w Version) int { return v.v.Compare(&w.v) }

// Major returns the first number.
func (v Version) Major() uint64 { return v.v.Major() }

// Minor returns the second number.
func (v Version) Minor() uint64 { return v.v.Minor() }

// Next returns the version after this one whose first or second number is higher. Before 1.0.0 the
// second number is the one that rises for a breaking change.
func (v Version) Next(breaking bool) Version {
	if breaking && v.Major() > 0 {
		return Version{v.v.IncMajor()}
	}
	return Version{v.v.IncMinor()}
}

// IsPrerelease reports whether it is a pre-release such as 1.2.0-rc1.
func (v Version) IsPrerelease() bool { return v.v.Prerelease() != "" }

// Range is a range of versions. The zero value has all that are not pre-releases.
type Range struct {
	text  string
	parts []part
}

type part struct {
	operator string
	version  semver.Version
	// numbers is how many numbers were written: ~> 1.2 and ~> 1.2.0 differ.
	numbers int
}

// maxParts limits the comparisons of a range.
const maxParts = 20

var comparison = regexp.MustCompile(`^(=|!=|>=|<=|>|<|~>)?\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,2})(-[0-9A-Za-z.-]{1,64})?$`)

// ParseRange parses a range. The empty text has all versions.
func ParseRange(text string) (Range, error) {
	r := Range{text: strings.TrimSpace(text)}
	if r.text == "" {
		return r, nil
	}
	for one := range strings.SplitSeq(r.text, ",") {
		m := comparison.FindStringSubmatch(strings.TrimSpace(one))
		if m == nil || len(r.parts) == maxParts {
			return Range{}, fmt.Errorf("the versions %q: expected up to %d comparisons such as \"~> 1.2\" or \">= 1.2, < 3\"", shorten.Cut(text, 80), maxParts)
		}
		v, err := semver.NewVersion(m[2] + m[3])
		if err != nil {
			return Range{}, fmt.Errorf("the version %q: %w", shorten.Cut(one, 80), err)
		}
		r.parts = append(r.parts, part{operator: m[1], version: *v, numbers: 1 + strings.Count(m[2], ".")})
	}
	return r, nil
}

func (r Range) String() string {
	if r.text == "" {
		return "any version"
	}
	return r.text
}

// Has reports whether a version is in the range.
func (r Range) Has(v Version) bool {
	if v.IsPrerelease() {
		return len(r.parts) == 1 && r.parts[0].isExact() && r.parts[0].version.Equal(&v.v)
	}
	for _, p := range r.parts {
		if !p.has(v.v) {
			return false
		}
	}
	return true
}

func (p part) isExact() bool { return p.operator == "" || p.operator == "=" }

func (p part) has(v semver.Version) bool {
	order := v.Compare(&p.version)
	switch p.operator {
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
	case "~>":
		return order >= 0 && p.below(v)
	}
	return order == 0
}

// below reports whether only the last written number rose, as ~> allows.
func (p part) below(v semver.Version) bool {
	switch p.numbers {
	case 3:
		return v.Major() == p.version.Major() && v.Minor() == p.version.Minor()
	case 2:
		return v.Major() == p.version.Major()
	}
	return true
}
