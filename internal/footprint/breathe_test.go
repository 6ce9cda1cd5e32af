// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGarbageGathersWhileThereIsWork(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	percent := func() int {
		now := debug.SetGCPercent(garbage)
		debug.SetGCPercent(now)
		return now
	}
	var b Breath
	b.Work(false)
	if got := percent(); got != garbage || b.resting != nil {
		t.Errorf("%d%% before there was any work", got)
	}
	b.Work(true)
	if got := percent(); got != garbageAtWork {
		t.Errorf("%d%% at work", got)
	}
	b.Work(false)
	b.Work(true)
	b.exhale()
	if got := percent(); got != garbageAtWork {
		t.Errorf("%d%% when work came before the rest", got)
	}
	b.Work(false)
	b.resting.Stop()
	b.exhale()
	if got := percent(); got != garbage {
		t.Errorf("%d%% at rest", got)
	}
}

func TestMuchInUseLeavesLittleRoomForGarbage(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: garbageAtWork, mib: garbageAtWork, 125 * mib: garbageAtWork, 150 * mib: 130, 200 * mib: 100, 1000 * mib: garbage} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB in use: %d%%, want %d%%", live/mib, got, want)
		}
	}
	runtime.GC()
	if inUse() == 0 {
		t.Error("what is in use is not known")
	}
}
