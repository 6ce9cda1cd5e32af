// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"os"
	"runtime/debug"
)

// garbage is how much may gather before it is collected, in percent of what is in use. Between 100, the standard, and
// 50 the time that collecting takes made no difference that could be measured; the memory did.
const garbage = 70

// KeepSmall has garbage collected sooner than usual, unless the environment says how much may gather.
func KeepSmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
