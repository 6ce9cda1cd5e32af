// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestTheCollectorIsTheUsualOneAfterItsFirstCycle: a server must not keep a heap of 17 times what it needs.
func TestTheCollectorIsTheUsualOneAfterItsFirstCycle(t *testing.T) {
	runtime.GC()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		now := debug.SetGCPercent(usual)
		if now == usual {
			return
		}
		debug.SetGCPercent(now)
		if time.Now().After(deadline) {
			t.Fatalf("GOGC is %d", now)
		}
	}
}
