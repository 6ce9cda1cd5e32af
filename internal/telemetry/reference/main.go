// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the reference page of metrics: go run ./internal/telemetry/reference
// docs/reference/metrics.md
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/telemetry"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected one argument, the file to write")
	}
	return os.WriteFile(args[0], []byte(telemetry.Reference()), 0o644) //nolint:gosec // anybody may read it
}
