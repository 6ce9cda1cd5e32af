// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command program replaces the programs of images in tests. It is small, and contains a module.
package main

import (
	"os"

	"github.com/klauspost/compress/gzip"
)

func main() {
	if gzip.NewWriter(os.Stdout).Close() != nil {
		os.Exit(1)
	}
}
