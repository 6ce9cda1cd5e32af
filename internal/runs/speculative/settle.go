// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"crypto/rand"
	"strings"
)

// Attempt computes the configuration of a stack with fillings for unknown values. It returns a text
// that identifies everything that a run would get, or why there is no configuration.
type Attempt func(fill Fill) (identity string, err error)

// Resolve finds out which unknown values a stack reads: with each of them in turn left out, and
// replaced by two texts that nobody can have written, its configuration must stay the same. mentions
// reports whether a template of the stack has the name, or may read all names: it could compare the
// value, and none of the three would show that.
//
// The configuration of the first attempt, with all values left out, has none of the texts in it.
func Resolve(unknown []Unknown, mentions func(key string) bool, attempt Attempt) (needs []Need, err error) {
	for _, u := range unknown {
		reads, err := depends(u, mentions, attempt)
		if err != nil {
			return nil, err
		}
		if reads {
			needs = append(needs, u.Need())
		}
	}
	return needs, nil
}

func depends(u Unknown, mentions func(key string) bool, attempt Attempt) (bool, error) {
	if mentions(u.Key) {
		return true, nil
	}
	long := rand.Text() + strings.Repeat("q7", 64)
	without, err := attempt(LeftOut)
	if err != nil {
		return false, err
	}
	for _, text := range []string{rand.Text(), long} {
		with, err := attempt(only(u, text))
		if err != nil {
			return false, err
		}
		if with != without {
			return true, nil
		}
	}
	return false, nil
}

// only fills one value, and leaves the others out.
func only(u Unknown, text string) Fill {
	return func(asked Unknown) (string, bool) {
		if asked != u {
			return "", false
		}
		return text, true
	}
}

// Mentions reports whether a text has a name that is not a part of a longer one.
func Mentions(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 || name == "" {
			return false
		}
		begin, end := at+i, at+i+len(name)
		if (begin == 0 || !inName(text[begin-1])) && (end == len(text) || !inName(text[end])) {
			return true
		}
		at = begin + 1
	}
}

func inName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// LeftOut leaves all unknown values out.
func LeftOut(Unknown) (string, bool) { return "", false }
