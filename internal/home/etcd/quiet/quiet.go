// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package quiet keeps the log of etcd's client off the terminal.
//
// The API server makes the logger of its etcd client when its package is initialised, and that logger writes JSON to
// standard error; nothing can replace it afterwards. What it says reaches our log as the API server's own error. This package
// changes the default it is made from. It imports nothing but the home of that default, so that Go, which initialises
// packages that are ready in the order of their paths, comes to it before any package of k8s.io.
package quiet

import (
	"os"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
)

func init() {
	logutil.DefaultZapLoggerConfig.OutputPaths = []string{os.DevNull}
}
