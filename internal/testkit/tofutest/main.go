// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"os"
	"path/filepath"
)

// Main is for the TestMain of packages that test installed programs. It installs them into a
// temporary directory and runs the tests there. The test binary is itself the program yuba if it is
// called by that name.
func Main(yuba func() int, tests func(programs string) int) int {
	if filepath.Base(os.Args[0]) == "yuba" {
		return yuba()
	}
	dir, err := os.MkdirTemp("", "yuba-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if err := Install(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests(dir)
}
