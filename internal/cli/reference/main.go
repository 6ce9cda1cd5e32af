// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the reference of the command line: one page for each command and one
// that lists them.
//
//	go run ./internal/cli/reference DIRECTORY
//
// The pages in DIRECTORY that it did not write now, of commands that are gone, are deleted.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the directory to write to")
	}
	pages := cli.Reference()
	old, err := filepath.Glob(filepath.Join(args[0], "*.md"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if _, stays := pages[filepath.Base(file)]; !stays {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil { //nolint:gosec // public text
			return err
		}
	}
	return nil
}
