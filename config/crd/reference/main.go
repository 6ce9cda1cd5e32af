// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the reference of the stack's kind, as one page of Markdown.
//
//	go run ./config/crd/reference api/infra/v1alpha2 PAGE
//
// Fields come from the Go types and from the definition that is made of them, what becomes of a field from the table that
// the controllers use, and conditions, reasons and names from the comments of their constants. So the page says what the
// code says, or it is not up to date, which "make verify" finds.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want two arguments, the folder of the kind's package and the page to write")
	}
	page, err := render(args[0])
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], []byte(page), 0o644) //nolint:gosec // public text
}

// render makes the page from the package in a folder.
func render(folder string) (string, error) {
	kind, err := readDefinition()
	if err != nil {
		return "", err
	}
	consts, err := readConstants(folder)
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(intro)
	writeSpec(&page, kind)
	writeStatus(&page, kind)
	if err := writeConstants(&page, consts); err != nil {
		return "", err
	}
	return page.String(), nil
}
