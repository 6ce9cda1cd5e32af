// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// At returns the type of the part that a path leads to. The error says how far the path leads.
func (t Type) At(p paths.Path) (Type, error) {
	here := t
	for i, step := range p {
		next, why := here.step(step)
		if why != "" {
			return Type{}, fmt.Errorf("the path %q: %s", p.String(), fmt.Sprintf(why, place(p[:i])))
		}
		here = next
	}
	return here, nil
}

func place(p paths.Path) string {
	if len(p) == 0 {
		return "the value"
	}
	return shorten.Cut(p.String(), 80)
}

// step returns the type behind a step, or a format for the place that says why there is none.
func (t Type) step(s paths.Step) (Type, string) {
	k := t.Kind()
	if k == Any {
		return t, ""
	}
	if name, ok := s.Name(); ok {
		switch k {
		case Map:
			return t.Element(), ""
		case Object:
			if a, found := t.Attribute(name); found {
				return a.Type, ""
			}
			return Type{}, "%s has no attribute " + escape(fmt.Sprintf("%q", name)) + "; it has " + escape(t.names())
		}
		return Type{}, "%s is a " + k.String() + " and has no attributes"
	}
	if s.IsEach() {
		switch k {
		case List, Set, Map:
			return t.Element(), ""
		case Tuple:
			return t.common(), ""
		}
		return Type{}, "%s is a " + k.String() + ", not a list, set, map or tuple"
	}
	i, _ := s.Index()
	switch {
	case k == List:
		return t.Element(), ""
	case k == Tuple && i < len(t.elements):
		return t.elements[i], ""
	case k == Tuple:
		return Type{}, "%s has only " + digits(len(t.elements)) + " elements"
	case k == Set:
		return Type{}, "%s is a set, whose elements have no index; [*] leads to all of them"
	}
	return Type{}, "%s is a " + k.String() + " and has no indexes"
}

func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// common returns the type that all elements of a tuple have, or any.
func (t Type) common() Type {
	for _, element := range t.elements {
		if !element.Equal(t.elements[0]) {
			return Type{}
		}
	}
	if len(t.elements) == 0 {
		return Type{}
	}
	return t.elements[0]
}

func (t Type) names() string {
	var names []string
	for _, a := range t.Attributes() {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return shorten.Cut(strings.Join(names, ", "), 200)
}
