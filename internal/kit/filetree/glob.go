// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"path/filepath"
	"strings"
)

// Glob returns the files below a directory that match a pattern. The directory's name is literal.
func Glob(dir, pattern string) ([]string, error) {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
	return filepath.Glob(filepath.Join(escaped, filepath.FromSlash(pattern)))
}
