// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// The reasons of refusals that the package decides itself. They are those of the kind ModuleSource.
const (
	ReasonInvalidVersion = "InvalidVersion"
	ReasonAmbiguousTags  = "AmbiguousTags"
)

// Tag is a tag of a repository, with the commit that it leads to.
type Tag struct{ Name, Commit string }

// Published is a version that the registry has.
type Published struct {
	Version string
	// Digest is that of the archive; empty if unknown.
	Digest string
	// Tag and Commit are its origin, if it came from this repository; else they are empty.
	Tag, Commit string
}

// Refusal is a tag that is not published.
type Refusal struct {
	Tag Tag
	// Module and Version are those that the tag would be; Version is empty if it is none.
	Module, Version string
	Reason, Message string
}

// Verdict is the result of an earlier attempt to publish a tag.
type Verdict struct {
	// Refusal is empty if the registry has the same content from elsewhere, such as from a push.
	Refusal Refusal
	// Digest is that of the published version at that time; empty if there was none.
	Digest string
}

// Key identifies the tag that a verdict is about.
type Key struct{ Module, Version, Tag, Commit string }

// Key returns the key of the refusal's verdict.
func (r Refusal) Key() Key { return Key{r.Module, r.Version, r.Tag.Name, r.Tag.Commit} }

// Facts are all facts of the decision.
type Facts struct {
	Rules []*Matcher
	// Forbidden are the modules that must not be published now. Their published versions stay in the status.
	Forbidden map[string]bool
	Tags      []Tag
	// Published are the versions that the registry has of each module.
	Published map[string][]Published
	Verdicts  map[Key]Verdict
	// Most limits the tags to publish now; the others follow.
	Most int
}

// Publish is a tag to publish as a version of a module.
type Publish struct {
	Rule    *Matcher
	Version string
	Tag     Tag
	// Was is what the registry has of this version; nil for nothing.
	Was *Published
}

// Refuse returns the refusal of the tag.
func (p Publish) Refuse(reason, message string) Refusal {
	return Refusal{Tag: p.Tag, Module: p.Rule.Module, Version: p.Version, Reason: reason, Message: message}
}

// Module is what is published of a module from the current tags.
type Module struct {
	Name   string
	Count  int
	Latest string
}

// Decision is what to do, and what is done.
type Decision struct {
	// Publish are the next tags to publish, Left is the number of those after them.
	Publish []Publish
	Left    int
	// Refused are the refused tags, the highest versions first.
	Refused []Refusal
	// Modules has an entry for each rule.
	Modules []Module
}

// candidate is a version with its tags.
type candidate struct {
	version *semver.Version
	tags    []Tag
}

// Tags decides which tags to publish.
func Tags(f Facts) Decision {
	var d Decision
	var refusals []ranked
	for _, rule := range f.Rules {
		module := Module{Name: rule.Module}
		candidates, refused := rule.candidates(f.Tags)
		for _, r := range refused {
			refusals = append(refusals, rank(r, nil))
		}
		published := map[string]*Published{}
		for i, p := range f.Published[rule.Module] {
			published[p.Version] = &f.Published[rule.Module][i]
		}
		for _, c := range candidates {
			was := published[c.version.String()]
			tag, refused := c.choose(rule, was)
			for _, r := range refused {
				refusals = append(refusals, rank(r, c.version))
			}
			if tag == nil {
				continue
			}
			todo := Publish{Rule: rule, Version: c.version.String(), Tag: *tag, Was: was}
			verdict, judged := f.Verdicts[todo.Refuse("", "").Key()]
			judged = judged && verdict.Digest == digestOf(was)
			switch {
			case was != nil && (was.Commit == tag.Commit || judged && verdict.Refusal.Reason == ""):
				module.Count++
				module.Latest = c.version.String() // they ascend
			case judged && verdict.Refusal.Reason != "":
				refusals = append(refusals, rank(verdict.Refusal, c.version))
			case f.Forbidden[rule.Module]:
			case f.Most > 0 && len(d.Publish) >= f.Most:
				d.Left++
			default:
				d.Publish = append(d.Publish, todo)
			}
		}
		d.Modules = append(d.Modules, module)
	}
	d.Refused = sorted(refusals)
	return d
}

func digestOf(p *Published) string {
	if p == nil {
		return ""
	}
	return cmp.Or(p.Digest, "unknown")
}

// Refused returns the verdict for a refusal of the tag.
func (p Publish) Refused(r Refusal) Verdict { return Verdict{Refusal: r, Digest: digestOf(p.Was)} }

// Same returns the verdict for a tag whose content the registry has already.
func (p Publish) Same() Verdict { return Verdict{Digest: digestOf(p.Was)} }

// candidates returns the versions that the rule selects, in ascending order, and tags that are not
// versions.
func (m *Matcher) candidates(tags []Tag) ([]candidate, []Refusal) {
	of := map[string]*candidate{}
	var refused []Refusal
	for _, tag := range tags {
		v, found, err := m.match(tag.Name)
		switch {
		case !found:
		case err != nil:
			refused = append(refused, Refusal{Tag: tag, Module: m.Module, Reason: ReasonInvalidVersion, Message: err.Error()})
		case m.wants(v):
			c := of[v.String()]
			if c == nil {
				c = &candidate{version: v}
				of[v.String()] = c
			}
			c.tags = append(c.tags, tag)
		}
	}
	var all []candidate
	for _, c := range of {
		slices.SortFunc(c.tags, func(a, b Tag) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Commit, b.Commit))
		})
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b candidate) int { return a.version.Compare(b.version) })
	return all, refused
}

// choose returns the tag that stands for the version; nil if none may.
func (c candidate) choose(rule *Matcher, was *Published) (*Tag, []Refusal) {
	// The published commit counts: other tags came later, or were moved.
	chosen := slices.IndexFunc(c.tags, func(t Tag) bool { return was != nil && was.Commit == t.Commit })
	if chosen < 0 && c.same() {
		chosen = 0
	}
	var refused []Refusal
	for i, tag := range c.tags {
		if i == chosen || chosen >= 0 && tag.Commit == c.tags[chosen].Commit {
			continue
		}
		var others []string
		for _, other := range c.tags {
			if other.Commit != tag.Commit {
				others = append(others, fmt.Sprintf("%q (commit %s)", other.Name, other.Commit))
			}
		}
		refused = append(refused, Refusal{Tag: tag, Module: rule.Module, Version: c.version.String(), Reason: ReasonAmbiguousTags,
			Message: fmt.Sprintf("the tag %q (commit %s) is the same version as %s; delete the wrong tag", tag.Name, tag.Commit, strings.Join(others, ", "))})
	}
	if chosen < 0 {
		return nil, refused
	}
	return &c.tags[chosen], refused
}

// same reports whether all tags lead to one commit.
func (c candidate) same() bool {
	return !slices.ContainsFunc(c.tags, func(t Tag) bool { return t.Commit != c.tags[0].Commit })
}

// ranked is a refusal with its version, if it has one.
type ranked struct {
	Refusal
	version *semver.Version
}

func rank(r Refusal, v *semver.Version) ranked { return ranked{r, v} }

// sorted sorts refusals: the highest versions first, those without a version last.
func sorted(list []ranked) []Refusal {
	slices.SortFunc(list, func(a, b ranked) int {
		byVersion := 0
		switch {
		case a.version != nil && b.version != nil:
			byVersion = b.version.Compare(a.version)
		case a.version != nil:
			byVersion = -1
		case b.version != nil:
			byVersion = 1
		}
		return cmp.Or(byVersion, strings.Compare(a.Module, b.Module), strings.Compare(a.Tag.Name, b.Tag.Name), strings.Compare(a.Tag.Commit, b.Tag.Commit))
	})
	var refused []Refusal
	for _, r := range list {
		refused = append(refused, r.Refusal)
	}
	return refused
}
