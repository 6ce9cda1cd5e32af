// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// LabelWidth is the width of the labels.
const LabelWidth = 12

// Labels writes texts beside labels, one below the other.
type Labels struct {
	io.Writer
	Now time.Time
}

// Line writes a text beside its label, unless the text is empty.
func (l *Labels) Line(label, format string, args ...any) {
	if text := strings.TrimRight(fmt.Sprintf(format, args...), " \n"); text != "" {
		fmt.Fprintf(l, "%-*s%s\n", LabelWidth, label, Indented(text))
	}
}

// Ago says how long ago something was, after a comma; nothing for nil and the zero time.
func (l *Labels) Ago(at *time.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return ", " + Age(l.Now, *at) + " ago"
}

// Indented indents all lines but the first to the column behind the labels.
func Indented(text string) string {
	text = strings.ReplaceAll(diagnostic.Printable(text), "\n", "\n"+strings.Repeat(" ", LabelWidth))
	return strings.ReplaceAll(text, "\n"+strings.Repeat(" ", LabelWidth)+"\n", "\n\n")
}
