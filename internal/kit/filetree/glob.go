// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"path/filepath"
	"strings"
)

// Glob returns the files below a directory that match a pattern. Special characters in the directory's name have no meaning.
func Glob(dir, pattern string) ([]string, error) {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
	return filepath.Glob(filepath.Join(escaped, filepath.FromSlash(pattern)))
}
