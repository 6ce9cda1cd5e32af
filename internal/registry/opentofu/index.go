// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/Masterminds/semver/v3"
)

// An origin lists its versions beside the releases: OpenTofu's in api.json, HashiCorp's in index.json.
// The lists are not signed. They only tell which versions to ask for, and the files of each are
// verified.

// tofuIndexURL is where OpenTofu's own releases are listed; GitHub has no list.
const tofuIndexURL = "https://get.opentofu.org/tofu/" + tofuIndex

const (
	tofuIndex      = "api.json"
	terraformIndex = "index.json"
	// maxIndex limits a list. HashiCorp's had 8 MB in 2026.
	maxIndex = 64 << 20
)

// IndexName is the name of the file that lists the versions.
func (s Source) IndexName() string {
	if s.Tool == Terraform {
		return terraformIndex
	}
	return tofuIndex
}

// indexURL is the address of the list.
func (s Source) indexURL() (*url.URL, error) {
	if s.Tool != Terraform && s.URL == "" {
		return url.Parse(tofuIndexURL)
	}
	base, err := s.parsed()
	if err != nil {
		return nil, err
	}
	return base.JoinPath(s.IndexName()), nil
}

// versions returns the versions that the origin lists, newest first, without pre-releases.
func (s Source) versions(ctx context.Context) ([]*semver.Version, error) {
	u, err := s.indexURL()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := s.fetchURL(ctx, u, maxIndex, &text, nil); err != nil {
		return nil, err
	}
	names, err := s.parseIndex(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read %s: it is not a list of versions: %w", u.Redacted(), err)
	}
	var all []*semver.Version
	for _, name := range names {
		if _, err := ParseVersion(name); err != nil {
			continue
		}
		if v, err := semver.StrictNewVersion(name); err == nil && v.Prerelease() == "" {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *semver.Version) int { return b.Compare(a) })
	return all, nil
}

// listed is a version in OpenTofu's list.
type listed struct {
	ID    string   `json:"id"`
	Files []string `json:"files"`
}

func (s Source) parseIndex(text []byte) (names []string, err error) {
	if s.Tool == Terraform {
		var index struct {
			Versions map[string]json.RawMessage `json:"versions"`
		}
		err = json.Unmarshal(text, &index)
		for name := range index.Versions {
			names = append(names, name)
		}
		return names, err
	}
	var index struct {
		Versions []listed `json:"versions"`
	}
	err = json.Unmarshal(text, &index)
	for _, v := range index.Versions {
		names = append(names, v.ID)
	}
	return names, err
}

// Index lists the kept versions of a tool in the format of its origin, so that another Yuba, or an
// installer, can use this registry as its origin. The error wraps [ErrNoFile] for other names.
func (k *Kept) Index(ctx context.Context, tool, name string) ([]byte, error) {
	source, known := k.Sources[tool]
	if !known || name != source.IndexName() {
		return nil, fmt.Errorf("%w: the lists are %s/%s and %s/%s", ErrNoFile, Tofu, tofuIndex, Terraform, terraformIndex)
	}
	kept, err := k.List(ctx)
	if err != nil {
		return nil, err
	}
	tofu, terraform := []listed{}, map[string]any{}
	for _, v := range kept {
		if v.Tool != tool {
			continue
		}
		one := listed{ID: v.Version, Files: []string{}}
		for _, f := range v.Files {
			one.Files = append(one.Files, f.Name)
		}
		tofu = append(tofu, one)
		terraform[v.Version] = map[string]string{"name": tool, "version": v.Version}
	}
	if tool == Terraform {
		return json.Marshal(map[string]any{"name": tool, "versions": terraform})
	}
	return json.Marshal(map[string]any{"versions": tofu})
}
