// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// placeholder stands for the version in a pattern.
const placeholder = "{version}"

// Rule says which tags are versions of a module.
type Rule struct {
	// Module is NAMESPACE/NAME/SYSTEM.
	Module string
	// Path is the module's directory; empty for the whole repository.
	Path string
	// Pattern is the pattern of tags; empty for the default.
	Pattern string
	// Range selects versions; empty for all.
	Range string
	// IgnorePrereleases leaves out pre-releases.
	IgnorePrereleases bool
}

// Matcher is a valid rule.
type Matcher struct {
	Rule
	before, after string
	// optional is true if the version may begin with v.
	optional bool
	allowed  *semver.Constraints
}

// Compile checks a rule.
func (r Rule) Compile() (*Matcher, error) {
	pattern := r.Pattern
	if pattern == "" {
		pattern = placeholder
		if dir := CleanPath(r.Path); dir != "" {
			pattern = dir + "/" + placeholder
		}
	}
	m := &Matcher{Rule: r}
	var ok bool
	if m.before, m.after, ok = strings.Cut(pattern, placeholder); !ok || strings.Contains(m.after, placeholder) {
		return nil, fmt.Errorf("module %s: the pattern of tags %q does not contain %s exactly once", r.Module, pattern, placeholder)
	}
	// In "module-v{version}", the v is already written.
	m.optional = !strings.HasSuffix(m.before, "v")
	if r.Range != "" {
		var err error
		if m.allowed, err = semver.NewConstraint(r.Range); err != nil {
			return nil, fmt.Errorf("module %s: %q is not a range of versions (%v); write it as \">=1.0.0 <3.0.0\" or \"~> 2.1\"", r.Module, r.Range, err)
		}
		// Pre-releases are left out with a field of their own, not by the way a range is written.
		m.allowed.IncludePrerelease = true
	}
	return m, nil
}

// CleanPath returns the path of a directory without "./" and slashes around it; empty for the whole
// repository.
func CleanPath(dir string) string {
	if dir = strings.Trim(path.Clean("/"+dir), "/"); dir == "." {
		return ""
	}
	return dir
}

// match returns the version in the name of a tag; found is false for tags that are not about the
// module's versions. Its error says why the text is not a version.
func (m *Matcher) match(tag string) (v *semver.Version, found bool, err error) {
	text, ok := strings.CutPrefix(tag, m.before)
	if !ok {
		return nil, false, nil
	}
	if text, ok = strings.CutSuffix(text, m.after); !ok {
		return nil, false, nil
	}
	if m.optional {
		text = strings.TrimPrefix(text, "v")
	}
	// Other tags, such as "nightly", and tags of directories are not meant.
	if text == "" || text[0] < '0' || text[0] > '9' || strings.Contains(text, "/") {
		return nil, false, nil
	}
	v, err = semver.StrictNewVersion(text)
	switch {
	case err != nil || v.String() != text:
		return nil, true, fmt.Errorf("%q is not a version that a registry can have: expected three numbers such as 1.2.0, or a pre-release such as 1.2.0-rc1", text)
	case v.Metadata() != "":
		return nil, true, fmt.Errorf("the version %q has build metadata (+%s), which versions in a registry cannot have", text, v.Metadata())
	}
	return v, true, nil
}

// wants reports whether the rule selects a version.
func (m *Matcher) wants(v *semver.Version) bool {
	return !(m.IgnorePrereleases && v.Prerelease() != "") && (m.allowed == nil || m.allowed.Check(v))
}
