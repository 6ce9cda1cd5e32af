// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command write writes the documentation as a site of static files.
//
//	go run ./internal/web/docsite/write DOCS DIRECTORY VERSION
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/web/docsite"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want three arguments: the directory of the documentation, the one to write to, and the version")
	}
	docs, err := docsite.Read(os.DirFS(args[0]))
	if err != nil {
		return err
	}
	return docs.Write(args[1], args[2])
}
