// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// allowed is the set of versions that constraints allow: an interval without some versions.
type allowed struct {
	low, high           *semver.Version // nil without a bound
	lowOpen, highOpen   bool
	without             []*semver.Version
	unreadable, nothing bool
}

var constraint = regexp.MustCompile(`^(=|!=|>=|<=|>|<|~>)?\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,2})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)

// narrows reports whether the constraints after exclude versions that those before allow. They have
// tofu's form, such as "~> 1.2, != 1.2.5". It is true if a constraint cannot be read.
func narrows(before, after []string) bool {
	old, now := parse(before), parse(after)
	switch {
	case now.unreadable || old.unreadable:
		return true
	case old.nothing:
		return false
	case now.nothing:
		return true
	}
	if now.low != nil {
		if old.low == nil || old.low.LessThan(now.low) || old.low.Equal(now.low) && now.lowOpen && !old.lowOpen {
			return true
		}
	}
	if now.high != nil {
		if old.high == nil || old.high.GreaterThan(now.high) || old.high.Equal(now.high) && now.highOpen && !old.highOpen {
			return true
		}
	}
	return slices.ContainsFunc(now.without, old.has)
}

// has reports whether a version is in the set.
func (a *allowed) has(v *semver.Version) bool {
	if a.low != nil && (v.LessThan(a.low) || a.lowOpen && v.Equal(a.low)) {
		return false
	}
	if a.high != nil && (v.GreaterThan(a.high) || a.highOpen && v.Equal(a.high)) {
		return false
	}
	return !slices.ContainsFunc(a.without, v.Equal)
}

func parse(constraints []string) *allowed {
	a := &allowed{}
	for _, text := range constraints {
		for term := range strings.SplitSeq(text, ",") {
			if term = strings.TrimSpace(term); term != "" {
				a.term(term)
			}
		}
	}
	if a.low != nil && a.high != nil && (a.low.GreaterThan(a.high) || a.low.Equal(a.high) && (a.lowOpen || a.highOpen || !a.has(a.low))) {
		a.nothing = true
	}
	return a
}

func (a *allowed) term(text string) {
	m := constraint.FindStringSubmatch(text)
	if m == nil {
		a.unreadable = true
		return
	}
	v, err := semver.NewVersion(m[2] + m[3])
	if err != nil {
		a.unreadable = true
		return
	}
	switch m[1] {
	case "", "=":
		a.from(v, false)
		a.to(v, false)
	case "!=":
		a.without = append(a.without, v)
	case ">", ">=":
		a.from(v, m[1] == ">")
	case "<", "<=":
		a.to(v, m[1] == "<")
	case "~>":
		a.from(v, false)
		// The last number that is written may rise.
		switch strings.Count(m[2], ".") {
		case 1:
			next := v.IncMajor()
			a.to(&next, true)
		case 2:
			next := semver.New(v.Major(), v.Minor()+1, 0, "", "")
			a.to(next, true)
		}
	}
}

func (a *allowed) from(v *semver.Version, open bool) {
	if a.low == nil || v.GreaterThan(a.low) {
		a.low, a.lowOpen = v, open
	} else if v.Equal(a.low) {
		a.lowOpen = a.lowOpen || open
	}
}

func (a *allowed) to(v *semver.Version, open bool) {
	if a.high == nil || v.LessThan(a.high) {
		a.high, a.highOpen = v, open
	} else if v.Equal(a.high) {
		a.highOpen = a.highOpen || open
	}
}
