// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"slices"
)

// Release is a version that exists.
type Release struct {
	Version string
	Notice  *Notice
}

// Releases returns the versions of a module or provider; false if nobody here knows them.
type Releases func(ctx context.Context, kind Kind, source string) ([]Release, bool)

// Where the newest versions are known from.
const (
	FromRegistry = "registry"
	FromStacks   = "stacks"
)

// Outdated is a use of a version for which there is a newer one.
type Outdated struct {
	User
	// Allowed is the newest version that the constraint allows, Newest the newest that exists, not
	// counting revoked ones and pre-releases. Either is empty if it is not newer.
	Allowed string `json:"allowed,omitempty"`
	Newest  string `json:"newest,omitempty"`
	// From is where they are known from: the registry or the mirror, or only other stacks.
	From string `json:"from"`
}

// Outdated returns the uses with newer versions or notices, of stacks in namespaces that pass.
func (x *Index) Outdated(ctx context.Context, releases Releases, pass func(namespace string) bool) []Outdated {
	var list []Outdated
	known := &knownReleases{ask: releases, index: x, bySource: map[string]*source{}}
	for _, u := range x.users(func(u Use) bool { return u.Version != "" }, pass) {
		s := known.of(ctx, u.Kind, u.Source)
		o := Outdated{User: u, From: s.from}
		o.Notice = s.notice(u.Version)
		o.Allowed, o.Newest = s.newer(u.Version, u.Constraint)
		if o.Newest != "" || o.Notice != nil {
			list = append(list, o)
		}
	}
	return list
}

// newer returns the newest version that a constraint allows, and the newest of all, if newer.
func (s *source) newer(version, constraint string) (allowed, newest string) {
	key := [2]string{version, constraint}
	if answer, known := s.answers[key]; known {
		return answer[0], answer[1]
	}
	defer func() { s.answers[key] = [2]string{allowed, newest} }()
	now := parse(version)
	if now == nil {
		return "", ""
	}
	c, err := ParseConstraint(constraint)
	if err != nil { // the tool understood it
		c = Constraint{}
	}
	for _, text := range s.newest {
		v := parse(text)
		if !v.GreaterThan(now) {
			break
		}
		if newest == "" {
			newest = text
		}
		if c.Allows(v) {
			return text, newest
		}
	}
	return "", newest
}

// Mark adds the notices of their versions to users.
func (x *Index) Mark(ctx context.Context, releases Releases, list []User) {
	known := &knownReleases{ask: releases, index: x, bySource: map[string]*source{}}
	for i := range list {
		list[i].Notice = known.of(ctx, list[i].Kind, list[i].Source).notice(list[i].Version)
	}
}

// knownReleases asks for each source once.
type knownReleases struct {
	ask      Releases
	index    *Index
	bySource map[string]*source
	used     map[string][]string
}

// source is a module or provider.
type source struct {
	from string
	// newest are released versions that are not revoked, newest first.
	newest  []string
	notices map[string]*Notice
	// answers are those of newer, by version and constraint.
	answers map[[2]string][2]string
}

func (s *source) notice(version string) *Notice { return s.notices[version] }

func (k *knownReleases) of(ctx context.Context, kind Kind, at string) *source {
	key := string(kind) + " " + at
	if s := k.bySource[key]; s != nil {
		return s
	}
	s := &source{from: FromRegistry, notices: map[string]*Notice{}, answers: map[[2]string][2]string{}}
	k.bySource[key] = s
	var list []Release
	found := false
	if k.ask != nil {
		list, found = k.ask(ctx, kind, at)
	}
	if !found {
		s.from = FromStacks
		for _, v := range k.versionsInUse(key) {
			list = append(list, Release{Version: v})
		}
	}
	for _, r := range list {
		if r.Notice != nil {
			s.notices[r.Version] = r.Notice
			if r.Notice.Kind == Revoked {
				continue
			}
		}
		if v := parse(r.Version); v != nil && v.Prerelease() == "" {
			s.newest = append(s.newest, r.Version)
		}
	}
	slices.SortFunc(s.newest, func(a, b string) int { return Compare(b, a) })
	return s
}

// Revoked is the kind of notices about versions that nobody should use.
const Revoked = "revoked"

// versionsInUse are the versions that any stack has of a source.
func (k *knownReleases) versionsInUse(key string) []string {
	if k.used == nil {
		k.used = map[string][]string{}
		for _, u := range k.index.users(func(Use) bool { return true }, func(string) bool { return true }) {
			at := string(u.Kind) + " " + u.Source
			if !slices.Contains(k.used[at], u.Version) {
				k.used[at] = append(k.used[at], u.Version)
			}
		}
	}
	return k.used[key]
}
