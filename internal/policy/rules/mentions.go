// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "bytes"

// mentions reports whether a JSON text has a string that is one of some names: if not, no attribute
// of it has one, and it need not be decoded. A name that is written with escapes is found, too.
func mentions(text []byte, names map[string]bool) bool {
	for {
		begin := bytes.IndexByte(text, '"')
		if begin < 0 {
			return false
		}
		text = text[begin+1:]
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			return false
		}
		if bytes.IndexByte(text[:end], '\\') >= 0 {
			return true // escapes: let the parser tell
		}
		if names[string(text[:end])] {
			return true
		}
		text = text[end+1:]
	}
}
