// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Mirrored lists the providers of a mirror, HOST/NAMESPACE/TYPE.
func Mirrored(mirror string) ([]string, error) {
	if mirror == "" {
		return nil, nil
	}
	paths, err := filetree.Glob(mirror, "*/*/*")
	if err != nil {
		return nil, fmt.Errorf("look into the provider mirror %s: %w", mirror, err)
	}
	var out []string
	for _, path := range paths {
		if entries, err := os.ReadDir(path); err != nil || len(entries) == 0 {
			continue
		}
		relative, err := filepath.Rel(mirror, path)
		if err != nil {
			return nil, fmt.Errorf("look into the provider mirror %s: %w", mirror, err)
		}
		out = append(out, filepath.ToSlash(relative))
	}
	return out, nil
}

// hclString quotes a text for HCL.
func hclString(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
