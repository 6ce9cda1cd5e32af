// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/version"

	"github.com/yuba-dev/yuba/internal/archive"
)

// chartLayer is the layer of a Helm chart. Tags cannot have the + of a version; Helm writes _ for
// it.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxTag is how long tags may be.
const maxTag = 128

// versionRange selects the highest version among tags.
type versionRange struct {
	text       string
	constraint *semver.Constraints
	filter     *regexp.Regexp
	chart      bool
}

// versions reads the range that is asked for.
func (r *Repository) versions() (*versionRange, error) {
	constraint, err := semver.NewConstraint(r.SemVer)
	if err != nil {
		return nil, &archive.FetchError{Reason: reasonRead, Stalled: true, Err: err,
			Message: "spec.ref.semver is no range of versions; write it as '1.2.x', '~1.2', '>=1.0.0 <2.0.0-0' and the like"}
	}
	selected := &versionRange{text: r.SemVer, constraint: constraint, chart: r.MediaType == chartLayer}
	if r.SemverFilter != "" {
		if selected.filter, err = regexp.Compile(r.SemverFilter); err != nil {
			return nil, &archive.FetchError{Reason: reasonRead, Stalled: true, Err: err,
				Message: "spec.ref.semverFilter is no regular expression (of RE2, as Go has them): " + err.Error()}
		}
	}
	return selected, nil
}

// highest is the tag of the highest version within the range. Equal versions with other build
// metadata are told apart by their names, so that the choice does not depend on the order of the
// tags.
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
