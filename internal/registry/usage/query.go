// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// The registries that a source without a host means.
var defaultHosts = []string{"registry.opentofu.org", "registry.terraform.io"}

// The tools, whose names are queries of their own.
var tools = []string{"tofu", "terraform"}

// Query asks for the users of a module, provider or tool.
type Query struct {
	Kind Kind
	// Source is as people write it. Without a host, it means the registry's own hosts and the
	// public ones.
	Source   string
	Versions Constraint
	// Everything is true for the query "*": all modules, providers and tools.
	Everything bool
	// own are the hosts of this Yuba's registry.
	own []string
}

var plainSource = regexp.MustCompile(`^(\*|[0-9a-zA-Z][0-9a-zA-Z._:-]*)(/(\*|[0-9a-zA-Z][0-9a-zA-Z_-]*))+$`)

// ParseQuery reads a module or provider with an optional range of versions: acme/vpc/aws@<2,
// hashicorp/aws@~> 5.0, tofu@<1.10, registry.opentofu.org/hashicorp/aws, git::https://example.com/modules.git.
// A * stands for any one name: acme/vpc/* is the module of any system, and "*" alone asks for everything. own are the hosts of this
// Yuba's registry.
func ParseQuery(text string, own ...string) (Query, error) {
	if text == "*" {
		return Query{Source: text, Everything: true}, nil
	}
	q := Query{Kind: Module, Source: text, own: own}
	if at := strings.LastIndexByte(text, '@'); at > 0 && (IsRange(text[at+1:]) || plainSource.MatchString(text[:at]) || slices.Contains(tools, text[:at])) {
		err := errors.New("no version follows the @")
		if at == len(text)-1 {
			return q, fmt.Errorf("read %s: %w", shorten.Cut(text, 80), err)
		}
		if q.Versions, err = ParseConstraint(text[at+1:]); err != nil {
			return q, fmt.Errorf("read %s: %w", shorten.Cut(text, 80), err)
		}
		q.Source = text[:at]
	}
	q.Source = strings.TrimSuffix(q.Source, "/")
	if q.Source == "" || len(q.Source) > 1000 || strings.ContainsFunc(q.Source, func(r rune) bool { return r <= ' ' }) {
		return q, fmt.Errorf("read %q: expected a module such as acme/vpc/aws, a provider such as hashicorp/aws, tofu, or the source of a module", shorten.Cut(text, 80))
	}
	if slices.Contains(tools, q.Source) {
		q.Kind = Tool
		return q, nil
	}
	if !plainSource.MatchString(q.Source) {
		return q, nil
	}
	first, rest, _ := strings.Cut(q.Source, "/")
	slashes := strings.Count(rest, "/")
	if hasHost := strings.ContainsAny(first, ".:"); hasHost {
		slashes--
	}
	switch {
	case slashes == 0:
		q.Kind, q.Source = Provider, strings.ToLower(q.Source)
	case slashes == 1:
		q.Source = strings.ToLower(q.Source)
	case !strings.ContainsAny(first, ".:"):
		return q, fmt.Errorf("read %q: a module has three names, NAMESPACE/NAME/SYSTEM, and a provider has two, NAMESPACE/NAME", shorten.Cut(text, 80))
	}
	return q, nil
}

// Matches reports whether a use is one of the queried.
func (q Query) Matches(u Use) bool {
	if q.Everything {
		return true
	}
	if q.Kind != u.Kind || !q.ofSource(u.Source) {
		return false
	}
	if len(q.Versions.parts) == 0 {
		return true
	}
	v := parse(ShownVersion(u))
	return v != nil && q.Versions.Covers(v)
}

func (q Query) ofSource(source string) bool {
	have, wanted := address(source), address(q.Source)
	if sameNames(have, wanted) {
		return true
	}
	host, rest, found := strings.Cut(have, "/")
	return found && sameNames(rest, wanted) && (slices.Contains(q.own, host) || slices.Contains(defaultHosts, host))
}

// sameNames compares sources by name. A * stands for any one name.
func sameNames(have, wanted string) bool {
	if !strings.Contains(wanted, "*") {
		return strings.EqualFold(have, wanted)
	}
	return slices.EqualFunc(strings.Split(have, "/"), strings.Split(wanted, "/"), func(have, wanted string) bool {
		return wanted == "*" || strings.EqualFold(have, wanted)
	})
}

// address is a source without what differs between its users: the prefix of the getter, the directory
// in a package, the reference, and the user's name.
func address(source string) string {
	if _, after, found := strings.Cut(source, "::"); found {
		source = after
	}
	source, _, _ = strings.Cut(source, "?")
	_, rest, found := strings.Cut(source, "://") // https and ssh lead to the same repository
	if !found {
		rest = source
	}
	rest, _, _ = strings.Cut(rest, "//")
	if found {
		if at := strings.IndexByte(rest, '@'); at >= 0 && !strings.Contains(rest[:at], "/") {
			rest = rest[at+1:]
		}
	} else if user, path, scp := strings.Cut(rest, ":"); scp && strings.Contains(user, "@") {
		_, host, _ := strings.Cut(user, "@")
		rest = host + "/" + path
	}
	return strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git")
}

// ShownVersion is the version of a use, or the reference in its source.
func ShownVersion(u Use) string {
	if u.Version != "" {
		return u.Version
	}
	_, query, _ := strings.Cut(u.Source, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	return values.Get("ref")
}

// Standing says whether a use is in effect.
type Standing string

// The standings.
const (
	// InEffect: the stack's resources were made with it.
	InEffect Standing = "applied"
	// InPlan: a plan that is not applied uses it.
	InPlan Standing = "planned"
)

// Notice is a warning about a version, see package catalog.
type Notice struct {
	Kind   string    `json:"kind"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// User is one stack that uses a version.
type User struct {
	Namespace string `json:"namespace"`
	Stack     string `json:"stack"`
	Use
	Standing Standing `json:"standing"`
	// LastRun is the stack's last run, and Outcome how it ended.
	LastRun   string    `json:"lastRun"`
	LastRunAt time.Time `json:"lastRunAt"`
	Outcome   string    `json:"outcome"`
	// Notice is set if the version is deprecated or revoked.
	Notice *Notice `json:"notice,omitempty"`
}

// Users returns the users of what a query names, in namespaces that pass, by name. A use that a plan
// and the last apply have in common is in effect.
func (x *Index) Users(q Query, pass func(namespace string) bool) []User {
	bySource := map[string]bool{} // a thousand stacks use the same few
	return x.users(func(u Use) bool {
		if q.Everything {
			return true
		}
		if u.Kind != q.Kind {
			return false
		}
		is, known := bySource[u.Source]
		if !known {
			is = q.ofSource(u.Source)
			bySource[u.Source] = is
		}
		return is && q.Matches(u)
	}, pass)
}

func (x *Index) users(matches func(Use) bool, pass func(namespace string) bool) []User {
	var list []User
	for _, e := range x.all(pass) {
		add := func(s *Set, standing Standing, except *Set) {
			if s == nil {
				return
			}
			for _, u := range s.Uses {
				if !matches(u) || has(except, u) {
					continue
				}
				list = append(list, User{Namespace: e.Stack.Namespace, Stack: e.Stack.Name, Use: u, Standing: standing,
					LastRun: e.LastRun, LastRunAt: e.LastRunAt, Outcome: e.Outcome})
			}
		}
		add(e.Applied, InEffect, nil)
		add(e.Planned, InPlan, e.Applied)
	}
	return list
}

func has(s *Set, use Use) bool {
	return s != nil && slices.ContainsFunc(s.Uses, func(u Use) bool {
		return u.Kind == use.Kind && u.Source == use.Source && u.Version == use.Version && u.Constraint == use.Constraint
	})
}

// Count counts users without naming them.
type Count struct {
	// Stacks is their number; Versions has it by version.
	Stacks   int            `json:"stacks"`
	Versions map[string]int `json:"versions,omitempty"`
}

// CountOf counts stacks, each once for each version.
func CountOf(list []User) Count {
	c := Count{Versions: map[string]int{}}
	stacks, versions := map[name]bool{}, map[string]bool{}
	for _, u := range list {
		stacks[name{u.Namespace, u.Stack}] = true
		v := ShownVersion(u.Use)
		if key := v + " " + u.Namespace + "/" + u.Stack; !versions[key] {
			versions[key] = true
			c.Versions[v]++
		}
	}
	c.Stacks = len(stacks)
	return c
}

// VersionCount says how many stacks use a version.
type VersionCount struct {
	Source, Version string
	Stacks          int
}

// Versions counts the stacks of each version of each module or provider, in effect or in a plan.
func (x *Index) Versions(kind Kind) []VersionCount {
	stacks := map[[2]string]int{}
	for _, e := range x.all(func(string) bool { return true }) {
		seen := map[[2]string]bool{}
		for _, s := range []*Set{e.Applied, e.Planned} {
			if s == nil {
				continue
			}
			for _, u := range s.Uses {
				if key := [2]string{u.Source, u.Version}; u.Kind == kind && !seen[key] {
					seen[key] = true
					stacks[key]++
				}
			}
		}
	}
	list := make([]VersionCount, 0, len(stacks))
	for key, n := range stacks {
		list = append(list, VersionCount{key[0], key[1], n})
	}
	return list
}
