// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

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

func TestThereIsWorkAsLongAsAnybodyHasSome(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	var b Breath
	one, other := b.Voice(), b.Voice()
	one(true)
	other(true)
	one(false)
	if b.resting != nil {
		t.Error("it rests while somebody works")
	}
	other(false)
	if b.resting == nil {
		t.Fatal("it does not rest when nobody works")
	}
	one(true)
	other(false)
	if b.resting != nil {
		t.Error("it rests because somebody has no work who had none before")
	}
	one(false)
	b.resting.Stop()
}

func TestMuchInUseLeavesLittleRoomForGarbage(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]struct{ work, rest int }{0: {garbageAtWork, garbage}, mib: {garbageAtWork, garbage}, 50 * mib: {garbageAtWork, garbage}, 100 * mib: {90, 40},
		200 * mib: {leastAtWork, leastAtRest}, 1000 * mib: {leastAtWork, leastAtRest}} {
		work, rest := percentFor(live, roomAtWork, leastAtWork, garbageAtWork), percentFor(live, roomAtRest, leastAtRest, garbage)
		if work != want.work || rest != want.rest {
			t.Errorf("%d MiB in use: %d%% at work and %d%% at rest, want %+v", live/mib, work, rest, want)
		}
	}
	runtime.GC()
	if inUse() == 0 {
		t.Error("what is in use is not known")
	}
}
