// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba is the control plane for OpenTofu, and the way to talk to one. "yuba help" says what it can do.
package main

import (
	"os"

	"github.com/yuba-dev/yuba/internal/cli"
)

func main() { os.Exit(cli.Main()) }
