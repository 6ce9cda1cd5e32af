// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// percent lets the heap grow to 64 MiB (16 times the runtime's smallest heap of 4 MiB) before the first
	// collection. The packages' own initialisation allocates 30 MB, most of which stays, and a collection
	// while it grows costs as much as the rest of a short command.
	percent = 1600
	// usual is the runtime's default.
	usual = 100
)

func init() { //nolint:gochecknoinits // it has to happen before other packages allocate
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(percent)
	// The first collection ends it. The cleanup runs after that.
	runtime.AddCleanup(new([16]byte), func(usual int) { debug.SetGCPercent(usual) }, usual)
}
