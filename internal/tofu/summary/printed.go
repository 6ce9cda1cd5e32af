// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package summary

import (
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Printed returns the errors in the output of a command without -json. The tools print
//
//	Error: SUMMARY
//
//	DETAIL, in lines of at most 78 characters
//
// with a frame of lines if the output is a terminal. A detail is one line here. It ends with the next
// diagnostic, so it may have output that follows the last one.
func Printed(lines []string) diagnostic.List {
	var said diagnostic.List
	inside := false // in the detail of an error
	for _, line := range lines {
		line = strings.TrimSpace(strings.TrimLeft(line, "│╷╵"))
		if text, begins := strings.CutPrefix(line, "Error: "); begins {
			said, inside = append(said, diagnostic.Diagnostic{Severity: diagnostic.Error, Summary: text}), true
			continue
		}
		if strings.HasPrefix(line, "Warning: ") {
			inside = false
		}
		if last := len(said) - 1; inside && line != "" {
			said[last].Detail = strings.TrimSpace(said[last].Detail + " " + line)
		}
	}
	return said
}
