// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"maps"
	"slices"
	"strings"
)

// Set is a set of paths with everything below them. The zero value is empty. A set is immutable.
type Set struct {
	// whole is set where everything is in the set; then there are no children.
	whole    bool
	children map[Step]Set
}

// All returns the set of everything.
func All() Set { return Set{whole: true} }

// Of returns the set of the paths and everything below them.
func Of(list ...Path) Set {
	var s Set
	for _, p := range list {
		s = s.with(p)
	}
	return s
}

func (s Set) with(p Path) Set {
	switch {
	case s.whole:
		return s
	case len(p) == 0:
		return All()
	}
	children := maps.Clone(s.children)
	if children == nil {
		children = map[Step]Set{}
	}
	children[p[0]] = children[p[0]].with(p[1:])
	return Set{children: children}
}

// Union returns the set of what is in either.
func (s Set) Union(t Set) Set {
	if s.whole || t.whole {
		return All()
	}
	children := maps.Clone(s.children)
	for step, child := range t.children {
		if children == nil {
			children = map[Step]Set{}
		}
		children[step] = children[step].Union(child)
	}
	return Set{children: children}
}

// IsAll reports whether everything is in the set.
func (s Set) IsAll() bool { return s.whole }

// IsEmpty reports whether nothing is in the set.
func (s Set) IsEmpty() bool { return !s.whole && len(s.children) == 0 }

// Meets reports whether a path leads to something in the set, or to something that contains it.
func (s Set) Meets(p Path) bool {
	if s.whole {
		return true
	}
	if len(p) == 0 {
		return !s.IsEmpty()
	}
	for step, child := range s.children {
		if step.meets(p[0]) && child.Meets(p[1:]) {
			return true
		}
	}
	return false
}

// Contains reports whether all that a path leads to is in the set.
func (s Set) Contains(p Path) bool {
	if s.whole || len(p) == 0 {
		return s.whole
	}
	if s.children[p[0]].Contains(p[1:]) {
		return true
	}
	return s.children[Step{kind: each}].Contains(p[1:])
}

// MetBy returns the first of the set's paths that a path meets.
func (s Set) MetBy(p Path) (Path, bool) {
	for _, q := range s.Paths() {
		if q.Meets(p) {
			return q, true
		}
	}
	return nil, false
}

// Below returns what the set has of the part behind a step: by the step itself, and by [*].
func (s Set) Below(step Step) Set {
	if s.whole {
		return s
	}
	own, all := s.children[step], s.children[Step{kind: each}]
	switch {
	case all.IsEmpty():
		return own
	case own.IsEmpty():
		return all
	}
	return own.Union(all)
}

// Names returns the names of the set's first steps, in no order.
func (s Set) Names() []string {
	var out []string
	for step := range s.children {
		if step.kind == name {
			out = append(out, step.name)
		}
	}
	return out
}

// Attribute returns what the set has of an attribute.
func (s Set) Attribute(of string) Set { return s.Below(Step{kind: name, name: of}) }

// Element returns what the set has of an element.
func (s Set) Element(i int) Set { return s.Below(Step{kind: index, index: i}) }

// HasEach reports whether the set has something of every element, and with them their number.
func (s Set) HasEach() bool { return s.whole || !s.children[Step{kind: each}].IsEmpty() }

// MaxIndex returns the highest index of the set's first steps, or -1.
func (s Set) MaxIndex() int {
	highest := -1
	for step := range s.children {
		if step.kind == index {
			highest = max(highest, step.index)
		}
	}
	return highest
}

// Paths returns the paths of the set, in order. For everything that is the empty path.
func (s Set) Paths() []Path {
	var out []Path
	s.collect(nil, &out)
	slices.SortFunc(out, Path.Compare)
	return out
}

func (s Set) collect(at Path, out *[]Path) {
	if s.whole {
		*out = append(*out, at)
	}
	for step, child := range s.children {
		child.collect(at.with(step), out)
	}
}

// String lists the paths.
func (s Set) String() string {
	if s.whole {
		return "everything"
	}
	var texts []string
	for _, p := range s.Paths() {
		texts = append(texts, p.String())
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}
