// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-kustomize runs kustomize for a server, which sends it the files and receives the
// result. It limits its own memory and time, so that a tree that grows during the build ends this
// program and not the server.
//
// It is a small program of its own, because the server starts it for every tree that could grow.
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

func main() {
	err := subprocess.LimitSelf()
	if err == nil {
		err = kustomize.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-kustomize: "+err.Error())
		os.Exit(1)
	}
}
