// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
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
