// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Fake writes programs that print their version into a directory. With an empty version, a program
// prints none.
func Fake(t *testing.T, dir string, programs map[string]string) {
	t.Helper()
	for name, version := range programs {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\necho '{\"terraform_version\":\"%s\"}'\n", version)
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
