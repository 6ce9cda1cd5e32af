// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

type kind uint8

const (
	name kind = iota
	index
	each
)

// Step is one step of a path. Steps are comparable.
type Step struct {
	kind  kind
	name  string
	index int
}

// Name returns the attribute or key of the step.
func (s Step) Name() (string, bool) { return s.name, s.kind == name }

// Index returns the index of the step.
func (s Step) Index() (int, bool) { return s.index, s.kind == index }

// IsEach reports whether the step is [*].
func (s Step) IsEach() bool { return s.kind == each }

// meets reports whether two steps can lead to the same part.
func (s Step) meets(t Step) bool { return s == t || s.kind == each || t.kind == each }

func (s Step) String() string {
	switch {
	case s.kind == each:
		return "[*]"
	case s.kind == index:
		return "[" + strconv.Itoa(s.index) + "]"
	case hclsyntax.ValidIdentifier(s.name):
		return "." + s.name
	}
	return "[" + quote(s.name) + "]"
}

// Path is a list of steps. Do not modify the steps of a path.
type Path []Step

// Attribute returns the path to an attribute, or to the element with a key.
func (p Path) Attribute(of string) Path { return p.with(Step{kind: name, name: of}) }

// Element returns the path to an element of a list or tuple.
func (p Path) Element(i int) Path { return p.with(Step{kind: index, index: i}) }

// Each returns the path to all elements.
func (p Path) Each() Path { return p.with(Step{kind: each}) }

// with copies: paths share no memory, so each may be kept.
func (p Path) with(s Step) Path { return append(slices.Clip(slices.Clone(p)), s) }

// String returns the path as users write it, without a root: subnets[*].id.
func (p Path) String() string { return strings.TrimPrefix(p.In(""), ".") }

// In returns the path behind the name of the contract or variable: base.subnets[*].id.
func (p Path) In(root string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, step := range p {
		b.WriteString(step.String())
	}
	return b.String()
}

// Meets reports whether one of the paths leads to the other's part, or into it.
func (p Path) Meets(q Path) bool {
	for i := range min(len(p), len(q)) {
		if !p[i].meets(q[i]) {
			return false
		}
	}
	return true
}

// Compare orders paths: names, then indexes, then [*]; a path before those below it.
func (p Path) Compare(q Path) int {
	return slices.CompareFunc(p, q, func(a, b Step) int {
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		if a.kind == index {
			return a.index - b.index
		}
		return strings.Compare(a.name, b.name)
	})
}
