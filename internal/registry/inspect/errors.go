// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Error says why an archive or directory is not a module that can be published.
type Error struct {
	// Reason is one sentence; empty if Diagnostics say it.
	Reason string
	// Diagnostics are the errors in the configuration, with file, line and column.
	Diagnostics diagnostic.List
}

func (e *Error) Error() string {
	var lines []string
	if e.Reason != "" {
		lines = append(lines, e.Reason)
	}
	for _, d := range e.Diagnostics {
		place := diagnostic.Printable(d.File)
		if d.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, d.Line, d.Column)
		}
		d.File = ""
		lines = append(lines, strings.TrimPrefix(place+": "+d.String(), ": "))
	}
	return strings.Join(lines, "\n")
}
