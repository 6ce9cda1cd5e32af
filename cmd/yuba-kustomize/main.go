// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-kustomize runs kustomize for a server, which hands it the files it asks for and takes what it makes. It
// limits its own memory and time, so that a tree that grows while it is built ends this program and not the server.
//
// It is a program of its own, and small, because it is started for every tree that could grow.
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

func main() {
	err := apart.LimitSelf()
	if err == nil {
		err = kustomize.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-kustomize: "+err.Error())
		os.Exit(1)
	}
}
