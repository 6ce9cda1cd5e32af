// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// garbageAtWork is how much may gather while there is work: collecting it took a fifth of the server's time.
	garbageAtWork = 160
	// rest is how long nothing is done before memory is given back.
	rest = 5 * time.Second
)

// Breath lets garbage gather while there is work, and gives the memory back when there has been none for a moment. The
// zero Breath is ready for use, by many at a time.
type Breath struct {
	mu      sync.Mutex
	working bool
	resting *time.Timer
}

// Work says whether there is work now. An environment that says how much garbage may gather is obeyed instead.
func (b *Breath) Work(some bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case some && b.resting != nil:
		b.resting.Stop()
		b.resting = nil
	case !some && b.working && b.resting == nil:
		b.resting = time.AfterFunc(rest, b.exhale)
	}
	if some && !b.working {
		b.working = true
		debug.SetGCPercent(garbageAtWork)
	}
}

func (b *Breath) exhale() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.resting == nil { // work came in the last moment
		return
	}
	b.working, b.resting = false, nil
	debug.SetGCPercent(garbage)
	debug.FreeOSMemory()
}
