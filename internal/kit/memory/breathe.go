// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// garbageAtWork is the maximum growth while there is work, in percent: collecting took a fifth
	// of the server's time.
	garbageAtWork = 160
	// roomAtWork and roomAtRest limit that growth in bytes. A server with many stacks uses more
	// memory, so its percentage is lower.
	roomAtWork, roomAtRest = 96 << 20, 48 << 20
	// leastAtWork and leastAtRest are the minimum growth. Below them a stack costs the more, the
	// more stacks there are: each collection visits all memory in use.
	leastAtWork, leastAtRest = 60, 20
	// rest is the idle time after which memory is returned, and the time for which a measurement is
	// valid.
	rest     = 5 * time.Second
	measured = time.Second
)

// Breath lets garbage accumulate while there is work, and returns the memory after a short idle
// time. The zero value is ready for use, and safe for concurrent use.
type Breath struct {
	mu      sync.Mutex
	resting *time.Timer
	// percent is the current GC percentage, at when it was computed. Both are zero while there is
	// no work.
	percent int
	at      time.Time
	// voices is the number of voices, working those that have work.
	voices  int
	working map[int]bool
}

// Work tells whether there is work now. It has no effect if the environment sets the GC percentage.
func (b *Breath) Work(some bool) { b.hear(0, some) }

// Voice returns a Work function for one of several independent users: there is work as long as any
// of them has some.
func (b *Breath) Voice() func(some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.voices++
	voice := b.voices
	return func(some bool) { b.hear(voice, some) }
}

func (b *Breath) hear(voice int, some bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working == nil {
		b.working = map[int]bool{}
	}
	if some {
		b.working[voice] = true
	} else {
		delete(b.working, voice)
		some = len(b.working) > 0
	}
	switch {
	case some && b.resting != nil:
		b.resting.Stop()
		b.resting = nil
	case !some && b.percent > 0 && b.resting == nil:
		b.resting = time.AfterFunc(rest, b.exhale)
	}
	if !some || time.Since(b.at) < measured {
		return
	}
	b.at = time.Now()
	if percent := percentFor(inUse(), roomAtWork, leastAtWork, garbageAtWork); percent != b.percent {
		b.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the GC percentage for a number of live bytes. It changes in steps, because
// each change stops the world.
func percentFor(live, room uint64, least, most int) int {
	const step = 10
	if live == 0 {
		return most
	}
	percent := int(room * 100 / live) //nolint:gosec // far below the largest number
	return min(max(percent/step*step, least), most)
}

// inUse returns the heap size after the last collection.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (b *Breath) exhale() {
	if b.rested() {
		// On failure the process just stays large.
		_ = Shrink()
		b.settle()
	}
}

// rested reports that there was no work for a moment. It takes a while, but new work does not wait
// for it.
func (b *Breath) rested() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.resting == nil {
		return false
	}
	b.percent, b.at, b.resting = 0, time.Time{}, nil
	debug.SetGCPercent(garbage)
	return true
}

// settle limits the growth until there is work again.
func (b *Breath) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.percent == 0 {
		debug.SetGCPercent(percentFor(inUse(), roomAtRest, leastAtRest, garbage))
	}
}
