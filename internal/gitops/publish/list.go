// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/oci"
	"github.com/fluxcd/pkg/version"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"
)

// ListOptions select artifacts by their tags.
type ListOptions struct {
	Access
	// Range selects versions, such as ">=1.0.0 <2.0.0".
	Range string
	// Pattern is a regular expression that tags must match.
	Pattern string
}

// listAtOnce is the number of concurrent requests.
const listAtOnce = 8

// List returns the artifacts of a repository without signatures: versions, the highest first, then
// other tags by name.
func List(ctx context.Context, repository string, o ListOptions) ([]Artifact, error) {
	ref, err := o.parse(repository)
	if err != nil {
		return nil, fmt.Errorf("list artifacts: %w", err)
	}
	wanted, err := o.filter()
	if err != nil {
		return nil, fmt.Errorf("list artifacts: %w", err)
	}
	options, err := o.remote(ctx)
	if err != nil {
		return nil, fmt.Errorf("list artifacts of %s: %w", repository, err)
	}
	tags, err := remote.List(ref.Context(), options...)
	if err != nil {
		if IsNotFound(err) {
			return nil, &missingError{fmt.Errorf("list the artifacts of %s: the repository does not exist", ref.Context().Name())}
		}
		return nil, explain("list the artifacts of", ref, err)
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return oci.IsCosignArtifact(tag) || !wanted(tag) })
	slices.SortFunc(tags, newestFirst)
	artifacts := make([]Artifact, len(tags))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listAtOnce)
	for i, tag := range tags {
		group.Go(func() (err error) {
			artifacts[i], err = look(ref.Context().Tag(tag), append(slices.Clone(options), remote.WithContext(ctx)))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return artifacts, nil
}

// filter returns whether a tag is selected.
func (o ListOptions) filter() (func(tag string) bool, error) {
	var within *semver.Constraints
	var pattern *regexp.Regexp
	var err error
	if o.Range != "" {
		if within, err = semver.NewConstraint(o.Range); err != nil {
			return nil, fmt.Errorf("%q is not a version range, such as \">=1.0.0 <2.0.0\": %w", o.Range, err)
		}
	}
	if o.Pattern != "" {
		if pattern, err = regexp.Compile(o.Pattern); err != nil {
			return nil, fmt.Errorf("%q is not a regular expression: %w", o.Pattern, err)
		}
	}
	return func(tag string) bool {
		if within != nil {
			v, err := version.ParseVersion(tag)
			if err != nil || !within.Check(v) {
				return false
			}
		}
		return pattern == nil || pattern.MatchString(tag)
	}, nil
}

// newestFirst compares tags: versions precede other tags, the highest first.
func newestFirst(a, b string) int {
	va, errA := version.ParseVersion(a)
	vb, errB := version.ParseVersion(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(vb.Compare(va), cmp.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// look reads one manifest.
func look(tag name.Tag, options []remote.Option) (Artifact, error) {
	descriptor, err := remote.Get(tag, options...)
	if err != nil {
		return Artifact{}, explain("check", tag, err)
	}
	var annotations map[string]string
	if manifest, err := v1.ParseManifest(bytes.NewReader(descriptor.Manifest)); err == nil {
		annotations = manifest.Annotations
	}
	return describe(oci.OCIRepositoryPrefix+tag.Name(), descriptor.Digest.String(), annotations), nil
}
