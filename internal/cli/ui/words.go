// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
)

// HiddenValue replaces a sensitive value.
const HiddenValue = "<sensitive>"

// SomeOf lists the first names, and how many follow.
func SomeOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Count is a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
