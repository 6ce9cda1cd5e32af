// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "regexp"

// table is what one provider serves.
type table struct {
	// source is NAMESPACE/NAME of the provider that it stands in for.
	source string
	// arguments are those of the provider's block.
	arguments map[string]attribute
	// access tells where the cloud is and what lets us in; nil when nothing is kept there.
	access func(arguments texts) (endpoint, token string, err error)
	// kinds are by the type of the resource.
	kinds map[string]kind
}

// kind is one type of resource.
type kind struct {
	attributes map[string]attribute
	blocks     map[string]block
	refuses    []refusal
}

// block may be given any number of times.
type block struct {
	attributes map[string]attribute
	blocks     map[string]block
}

// refusal is a value that the real service does not take.
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
)

// attribute is an attribute of a kind, or an argument of a block.
type attribute struct {
	shape shape
	// required must be given, optional may be, and computed is told by the cloud when it was not given.
	required, optional, computed bool
	sensitive                    bool
	// replaces: another value is another object.
	replaces bool
	// pattern is what the cloud says when nothing was given.
	pattern string
	// made is used instead of a pattern where there is none.
	made func(texts) string
}

func required(s shape) attribute { return attribute{shape: s, required: true} }

func optional(s shape) attribute { return attribute{shape: s, optional: true} }

// told is an attribute that only the cloud knows.
func told(pattern string) attribute { return attribute{computed: true, pattern: pattern} }

// or makes the cloud choose when nothing is given.
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
