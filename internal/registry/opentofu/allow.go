// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Allow are the versions that may be downloaded because a run needs one. The zero value allows none.
type Allow struct{ rules []allowed }

// allowed is one rule: a tool and the range of its versions; nil for all.
type allowed struct {
	tool     string
	versions *semver.Constraints
	text     string
}

var toolOfRule = regexp.MustCompile(`^(opentofu|tofu|terraform)(?:\s+(.*))?$`)

// ParseAllow parses rules such as "opentofu >= 1.8, < 2, terraform 1.5.7": after the name of a tool
// follows the range of its versions, in the notation of spec.tool.version. A tool without a range
// allows every version.
func ParseAllow(texts []string) (Allow, error) {
	var a Allow
	for part := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		part = strings.TrimSpace(part)
		m := toolOfRule.FindStringSubmatch(part)
		switch {
		case part == "":
			continue
		case m != nil:
			a.rules = append(a.rules, allowed{tool: strings.Replace(m[1], "opentofu", Tofu, 1), text: m[2]})
		case len(a.rules) == 0 || part[0] >= 'a' && part[0] <= 'z' && part[0] != 'v':
			return Allow{}, fmt.Errorf("%q does not name a tool: expected opentofu or terraform and a range of versions, such as \"opentofu >= 1.10, < 2, terraform 1.5.7\"", part)
		default: // another condition of the same range
			last := &a.rules[len(a.rules)-1]
			last.text = strings.TrimPrefix(last.text+", "+part, ", ")
		}
	}
	for i := range a.rules {
		r := &a.rules[i]
		if r.text == "" {
			continue
		}
		versions, err := parseRange(r.text)
		if err != nil {
			return Allow{}, fmt.Errorf("the versions of %s: %w", r.tool, err)
		}
		r.versions = versions
	}
	return a, nil
}

// parseRange parses a range of versions as spec.tool.version has it.
func parseRange(text string) (*semver.Constraints, error) {
	versions, err := semver.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a range of versions: %w. It is a constraint such as \"1.9.1\", \"~> 1.9.0\" or \">= 1.8, < 2\"", text, err)
	}
	versions.IncludePrerelease = true
	return versions, nil
}

// Any reports whether any version of a tool is allowed.
func (a Allow) Any(tool string) bool {
	for _, r := range a.rules {
		if r.tool == tool {
			return true
		}
	}
	return false
}

// Allows reports whether a version of a tool is allowed.
func (a Allow) Allows(tool string, version *semver.Version) bool {
	for _, r := range a.rules {
		if r.tool == tool && (r.versions == nil || r.versions.Check(version)) {
			return true
		}
	}
	return false
}

// about returns the rules about a tool, for people.
func (a Allow) about(tool string) string {
	var texts []string
	for _, r := range a.rules {
		if r.tool == tool {
			texts = append(texts, strings.TrimSpace(tool+" "+r.text))
		}
	}
	return strings.Join(texts, ", ")
}
