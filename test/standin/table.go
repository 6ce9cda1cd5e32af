// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "regexp"

// table is what one provider serves.
type table struct {
	// source is the replaced provider, NAMESPACE/NAME.
	source string
	// arguments are the arguments of the provider's block.
	arguments map[string]attribute
	// access returns the cloud's address and credentials; nil if nothing is stored there.
	access func(arguments texts) (endpoint, token string, err error)
	// kinds are the resource types by name.
	kinds map[string]kind
	// data are the types of data sources, and imports says whether objects can be imported by their id;
	// for tables in a file only.
	data    map[string]kind
	imports bool
}

// kind is one type of resource.
type kind struct {
	attributes map[string]attribute
	blocks     map[string]block
	refuses    []refusal
}

// block may be repeated.
type block struct {
	attributes map[string]attribute
	blocks     map[string]block
}

// refusal is a value that the real service refuses.
type refusal struct {
	attribute string
	value     *regexp.Regexp
	message   string
}

// shape is the type of an attribute.
type shape int

const (
	text shape = iota
	whole
	flag
	textList
	textSet
	textMap
	anything
)

// attribute is an attribute of a kind, or an argument of a block.
type attribute struct {
	shape shape
	// required attributes must be set, optional ones may be, and the cloud returns computed ones that
	// are not set.
	required, optional, computed bool
	sensitive                    bool
	// replaces: a change replaces the object.
	replaces bool
	// pattern is the cloud's response if the attribute is not set.
	pattern string
	// made replaces the pattern.
	made func(texts) string
}

func required(s shape) attribute { return attribute{shape: s, required: true} }

func optional(s shape) attribute { return attribute{shape: s, optional: true} }

// told is an attribute that only the cloud sets.
func told(pattern string) attribute { return attribute{computed: true, pattern: pattern} }

// or makes the cloud choose a value if none is set.
func (a attribute) or(pattern string) attribute {
	a.computed, a.pattern = true, pattern
	return a
}

func (a attribute) fixed() attribute {
	a.replaces = true
	return a
}

func (a attribute) secret() attribute {
	a.sensitive = true
	return a
}
