// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the JSON schema of secrets.yaml.
//
//	go run ./internal/secrets/declare/reference SCHEMA
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument: the schema")
	}
	schema, err := declare.Schema()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], schema, 0o644) //nolint:gosec // anybody may read it
}
