// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-policy evaluates Rego for a server, which sends it bundles and inputs and receives
// findings. It limits its own memory, so that rules that allocate end this program and not the
// server. It has no network and reads no files.
//
// It is a Go module of its own: OPA asks for newer versions of libraries than the rest of Yuba has,
// and is linked into no other program.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/cmd/yuba-policy/engine"
)

func main() {
	err := limitSelf()
	if err == nil {
		err = engine.Serve(bufio.NewReaderSize(os.Stdin, 1<<20), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-policy: "+err.Error())
		os.Exit(1)
	}
}
