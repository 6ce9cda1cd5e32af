// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command program replaces Yuba's programs in tests of packing: it is small, and of another module.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/blakesmith/ar"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("# the released program", strings.Join(os.Args[1:], " "))
		return
	}
	if err := ar.NewWriter(os.Stdout).WriteGlobalHeader(); err != nil {
		os.Exit(1)
	}
}
