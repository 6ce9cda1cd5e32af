// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxDepth is far beyond what people write: everything here recurses.
	maxDepth = 200
	// maxNumber is the maximum number of digits, and of the exponent: 1e999999999 fills the memory
	// when it is written out.
	maxNumber = 999
	// maxBytes is the maximum size of a document. A revision is kept in a Secret of one megabyte; the
	// rest is room for both values of a change.
	maxBytes = 16 << 20
)

// measure refuses JSON that takes too much to read. The text may be invalid.
func measure(text []byte) error {
	if len(text) > maxBytes {
		return fmt.Errorf("it has %d bytes: at most %d are allowed", len(text), maxBytes)
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
		case c == ']' || c == '}':
			depth--
		case c >= '0' && c <= '9':
			start := i
			for i+1 < len(text) && strings.IndexByte("0123456789.eE+-", text[i+1]) >= 0 {
				i++
			}
			if wild(string(text[start : i+1])) {
				return fmt.Errorf("a number has more than %d digits, or an exponent beyond that", maxNumber)
			}
		}
	}
	return nil
}

func wild(number string) bool {
	if len(number) > maxNumber {
		return true
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(strings.TrimPrefix(number[i+1:], "+"))
	return err != nil || exponent > maxNumber || exponent < -maxNumber
}
