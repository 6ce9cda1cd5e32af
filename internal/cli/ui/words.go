// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// HiddenValue stands where a sensitive value would.
const HiddenValue = "<sensitive>"

// SomeOf names the first of many.
func SomeOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Count says how many there are of something.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Indented puts what has several lines below the first, in the same column.
func Indented(text string) string {
	text = strings.ReplaceAll(diagnostic.Printable(text), "\n", "\n"+strings.Repeat(" ", LabelWidth))
	return strings.ReplaceAll(text, "\n"+strings.Repeat(" ", LabelWidth)+"\n", "\n\n")
}

const LabelWidth = 12
