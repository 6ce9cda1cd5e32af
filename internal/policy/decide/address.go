// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "strings"

// MatchesAddress is [Matches] for the address of a resource. Text outside of brackets never matches
// text in the key of an instance, which whoever writes the configuration chooses freely: "*legacy*" is
// not about aws_db.main["legacy"].
func MatchesAddress(pattern, address string) bool {
	return Matches(marked(pattern, '*'), marked(address, 0))
}

// marked marks each byte in a key, except for the wildcard.
func marked(address string, wildcard byte) string {
	var text strings.Builder
	for len(address) > 0 {
		key := 1
		if address[0] == '[' {
			key = max(1, keyLength(address))
		}
		for i := range key {
			if c := address[i]; key > 1 && c != wildcard {
				text.WriteByte(0)
			}
			text.WriteByte(address[i])
		}
		address = address[key:]
	}
	return text.String()
}

// keyLength is the length of the key at the beginning of a text, [0] or ["text"]; 0 if it does not end.
func keyLength(text string) int {
	if !strings.HasPrefix(text, `["`) {
		return strings.IndexByte(text, ']') + 1
	}
	for i := 2; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"' && strings.HasPrefix(text[i+1:], "]"):
			return i + 2
		}
	}
	return 0
}
