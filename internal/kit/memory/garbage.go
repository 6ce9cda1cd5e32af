// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os"
	"runtime/debug"
)

// garbage is the GC percentage. Between 100, the default, and 50 the time for collections made no
// measurable difference; the memory did.
const garbage = 70

// KeepSmall makes the garbage collector run sooner, unless the environment sets its percentage.
func KeepSmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
