// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package quiet keeps the log of etcd's client off the terminal.
//
// The API server creates the logger of its etcd client when its package is initialised. That logger
// writes JSON to standard error, and nothing can replace it later. Its messages reach our log as
// errors of the API server anyway. This package changes the default from which the logger is made.
// Go initialises packages that are ready in the order of their paths. This package imports only the
// default's package, so it comes before all of k8s.io.
package quiet

import (
	"os"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
)

func init() {
	logutil.DefaultZapLoggerConfig.OutputPaths = []string{os.DevNull}
}
