// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"strings"
)

// maxName limits names in messages.
const maxName = 100

// plain reports whether a key needs no quotes in a path.
func plain(key string) bool {
	for i, r := range key {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return key != "" && len(key) <= maxName
}

// Child returns the path of a key: a.b or a["b.c"]. Keys are foreign text, so odd ones are quoted.
func Child(at, key string) string {
	switch {
	case !plain(key):
		if len(key) > maxName {
			key = strings.ToValidUTF8(key[:maxName], "") + "…"
		}
		return at + fmt.Sprintf("[%q]", key)
	case at == "":
		return key
	}
	return at + "." + key
}

// Index returns the path of an element.
func Index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }
