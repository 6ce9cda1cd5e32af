// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-sops decrypts files of SOPS for a server. It is a program of its own because sops
// links the libraries of all clouds whose keys it supports, and so that a malicious file cannot
// harm the server.
package main

import (
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt/sopsfile"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

func main() {
	err := subprocess.LimitSelf()
	if err == nil {
		err = sopsfile.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "yuba-sops: "+err.Error())
		os.Exit(1)
	}
}
