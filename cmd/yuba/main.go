// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba is the control plane for OpenTofu, and its client. "yuba help" lists the commands.
package main

import (
	"os"

	"github.com/yuba-dev/yuba/internal/cli"
	_ "github.com/yuba-dev/yuba/internal/cli/startup"       // fewer garbage collections
	_ "github.com/yuba-dev/yuba/internal/cli/startup/texts" // no translations of kubectl
)

func main() { os.Exit(cli.Main()) }
