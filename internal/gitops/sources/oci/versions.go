// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/version"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// chartLayer is the media type of Helm charts. In their tags, _ stands for the + of a version.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxTag is the maximum length of a tag.
const maxTag = 128

// versionRange selects the highest version among tags.
type versionRange struct {
	text       string
	constraint *semver.Constraints
	filter     *regexp.Regexp
	chart      bool
}

// versions returns the requested range.
func (r *Repository) versions() (*versionRange, error) {
	constraint, err := semver.NewConstraint(r.SemVer)
	if err != nil {
		return nil, upstream.Stalled(reasonRead, err, "spec.ref.semver is not a version range; examples are '1.2.x', '~1.2' and '>=1.0.0 <2.0.0-0'")
	}
	selected := &versionRange{text: r.SemVer, constraint: constraint, chart: r.MediaType == chartLayer}
	if r.SemverFilter != "" {
		if selected.filter, err = regexp.Compile(r.SemverFilter); err != nil {
			return nil, upstream.Stalled(reasonRead, err, "spec.ref.semverFilter is not a valid regular expression (Go's RE2 syntax): %s", err)
		}
	}
	return selected, nil
}

// highest returns the tag of the highest version in the range. Names decide between versions that
// differ only in build metadata, so that the order of the tags does not matter.
func (v *versionRange) highest(tags []string) (string, bool) {
	type candidate struct {
		tag     string
		version *semver.Version
	}
	var found []candidate
	for _, tag := range tags {
		if len(tag) > maxTag || v.filter != nil && !v.filter.MatchString(tag) {
			continue
		}
		text := tag
		if v.chart {
			text = strings.ReplaceAll(tag, "_", "+")
		}
		parsed, err := version.ParseVersion(text)
		if err == nil && v.constraint.Check(parsed) {
			found = append(found, candidate{tag, parsed})
		}
	}
	if len(found) == 0 {
		return "", false
	}
	best := slices.MaxFunc(found, func(a, b candidate) int {
		if order := a.version.Compare(b.version); order != 0 {
			return order
		}
		return strings.Compare(a.tag, b.tag)
	})
	return best.tag, true
}
