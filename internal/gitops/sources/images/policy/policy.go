// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/version"
)

// Order is the direction of an order by alphabet or number.
type Order string

// The orders. An ascending order elects the last one, such as z or 9.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// Spec describes a policy. Exactly one of SemVer, Alphabetical and Numerical is set.
type Spec struct {
	// SemVer is a range of versions; the highest version in it is elected.
	SemVer *string
	// Alphabetical and Numerical are orders.
	Alphabetical, Numerical *Order
	// Pattern is a regular expression that selects tags; empty selects all.
	Pattern string
	// Extract makes the text to compare from groups of Pattern, such as $ts; empty compares tags.
	Extract string
}

// Policy elects tags. Create it with Compile.
type Policy struct {
	spec    Spec
	pattern *regexp.Regexp
	// parse reads the text to compare. Candidates are compared by compare, then by their tags.
	parse   func(text string) (value any, ok bool)
	compare func(a, b any) int
}

// Compile checks a policy. Its errors are for the author of the policy.
func Compile(spec Spec) (*Policy, error) {
	p := &Policy{spec: spec}
	if spec.Pattern != "" {
		var err error
		if p.pattern, err = regexp.Compile(spec.Pattern); err != nil {
			return nil, fmt.Errorf("spec.filterTags.pattern is not a valid regular expression (Go's RE2 syntax): %w", err)
		}
	}
	if spec.Extract != "" && spec.Pattern == "" {
		return nil, errors.New("spec.filterTags.extract needs spec.filterTags.pattern, whose groups it names")
	}
	switch {
	case spec.SemVer != nil && spec.Alphabetical == nil && spec.Numerical == nil:
		return p, p.versions(*spec.SemVer)
	case spec.Alphabetical != nil && spec.SemVer == nil && spec.Numerical == nil:
		p.parse = func(text string) (any, bool) { return text, true }
		p.compare = func(a, b any) int { return strings.Compare(a.(string), b.(string)) }
		return p, p.direct(*spec.Alphabetical)
	case spec.Numerical != nil && spec.SemVer == nil && spec.Alphabetical == nil:
		p.parse, p.compare = number, func(a, b any) int { return a.(*big.Rat).Cmp(b.(*big.Rat)) }
		return p, p.direct(*spec.Numerical)
	}
	return nil, errors.New("spec.policy needs exactly one of semver, alphabetical and numerical")
}

func (p *Policy) versions(text string) error {
	within, err := semver.NewConstraint(text)
	if err != nil {
		return fmt.Errorf("spec.policy.semver.range %q is not a version range; examples are '1.2.x', '~1.2' and '>=1.0.0 <2.0.0-0'", text)
	}
	p.parse = func(text string) (any, bool) {
		v, err := version.ParseVersion(text)
		return v, err == nil && within.Check(v)
	}
	p.compare = func(a, b any) int { return a.(*semver.Version).Compare(b.(*semver.Version)) }
	return nil
}

func (p *Policy) direct(order Order) error {
	switch order {
	case Ascending, "":
	case Descending:
		ascending := p.compare
		p.compare = func(a, b any) int { return ascending(b, a) }
	default:
		return fmt.Errorf("the order %q is neither asc nor desc", order)
	}
	return nil
}

// decimal is a number without an exponent: that of a tag could have a billion digits.
var decimal = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)

// maxText limits the text of a number; tags are shorter.
const maxText = 256

func number(text string) (any, bool) {
	if len(text) > maxText || !decimal.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// NoneError means that no tag is a candidate.
type NoneError struct {
	// Tags, Selected and Candidates are the numbers of tags, of those that the pattern selects, and of
	// those that could be compared.
	Tags, Selected int
	what           string
}

func (e *NoneError) Error() string {
	switch {
	case e.Tags == 0:
		return "the image has no tags"
	case e.Selected == 0:
		return fmt.Sprintf("none of the %d tags matches spec.filterTags.pattern", e.Tags)
	}
	return fmt.Sprintf("none of the %d selected tags is %s", e.Selected, e.what)
}

// Latest elects a tag. It fails with a *NoneError.
func (p *Policy) Latest(tags []string) (string, error) {
	var best string
	var value any
	selected := 0
	for _, tag := range tags {
		text, ok := p.text(tag)
		if !ok {
			continue
		}
		selected++
		parsed, ok := p.parse(text)
		if !ok {
			continue
		}
		if value == nil || p.above(parsed, tag, value, best) {
			best, value = tag, parsed
		}
	}
	if value == nil {
		return "", &NoneError{Tags: len(tags), Selected: selected, what: p.what()}
	}
	return best, nil
}

// above reports whether a candidate precedes another one. Tags decide between equal values.
func (p *Policy) above(value any, tag string, other any, otherTag string) bool {
	if order := p.compare(value, other); order != 0 {
		return order > 0
	}
	return tag > otherTag
}

// text returns the text of a tag that is compared; ok is false if the pattern does not select it.
func (p *Policy) text(tag string) (text string, ok bool) {
	if p.pattern == nil {
		return tag, true
	}
	found := p.pattern.FindStringSubmatchIndex(tag)
	if found == nil {
		return "", false
	}
	if p.spec.Extract == "" {
		return tag, true
	}
	return string(p.pattern.ExpandString(nil, p.spec.Extract, tag, found)), true
}

func (p *Policy) what() string {
	switch {
	case p.spec.SemVer != nil:
		return fmt.Sprintf("a version within %q", *p.spec.SemVer)
	case p.spec.Numerical != nil:
		return "a number"
	}
	return "text"
}

// tag is the format of the specification of registries.
var tag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// Valid returns the valid tags that none of the exclusions matches, each once, in order, and the number
// of names that are not valid tags.
func Valid(names []string, exclusions []*regexp.Regexp) (tags []string, invalid int) {
	for _, name := range names {
		if !tag.MatchString(name) {
			invalid++
			continue
		}
		if !slices.ContainsFunc(exclusions, func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
			tags = append(tags, name)
		}
	}
	slices.Sort(tags)
	return slices.Clip(slices.Compact(tags)), invalid
}
