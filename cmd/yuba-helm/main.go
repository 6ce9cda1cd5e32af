// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-helm runs Helm for a server, which gives it charts and values, and forwards its
// requests to the target cluster. It has neither files nor credentials. It limits its own memory and
// CPU time, so that templates that allocate or never end, end this program and not the server.
//
// It is a Go module of its own: Helm asks for newer versions of libraries than the rest of Yuba has,
// and is linked into no other program.
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/cmd/yuba-helm/engine"
)

func main() {
	err := limitSelf()
	if err == nil {
		err = engine.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-helm: "+err.Error())
		os.Exit(1)
	}
}
