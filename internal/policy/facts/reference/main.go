// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the JSON schema of facts, and the page that describes them, from the Go
// types and their comments.
//
//	go run ./internal/policy/facts/reference PACKAGE SCHEMA PAGE
//
// PACKAGE is the directory of package facts.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want three arguments: the package, the schema and the page")
	}
	comments, err := readComments(args[0])
	if err != nil {
		return err
	}
	s, err := newSchema(comments)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s.root); err != nil {
		return err
	}
	for file, data := range map[string][]byte{args[1]: text.Bytes(), args[2]: []byte(s.page())} {
		if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // public text
			return err
		}
	}
	return nil
}
