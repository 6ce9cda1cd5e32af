// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// garbageAtWork is how much may gather at most while there is work: collecting it took a fifth of the server's time.
	garbageAtWork = 160
	// roomAtWork and roomAtRest are how many bytes that may come to. A server of many stacks has more in use, and gathers the
	// less.
	roomAtWork, roomAtRest = 96 << 20, 48 << 20
	// leastAtWork and leastAtRest are how much may always gather. What a stack costs grows with how many there are below
	// that: each collection looks at all that is in use, and there are the more of them the less may gather.
	leastAtWork, leastAtRest = 60, 20
	// rest is how long nothing is done before memory is given back, and measured how long what is in use counts.
	rest     = 5 * time.Second
	measured = time.Second
)

// Breath lets garbage gather while there is work, and gives the memory back when there has been none for a moment. The
// zero Breath is ready for use, by many at a time.
type Breath struct {
	mu      sync.Mutex
	resting *time.Timer
	// percent is how much garbage may gather, at is when that was found out. Both are zero while there is no work.
	percent int
	at      time.Time
	// voices is how many there are, and working which of them have work.
	voices  int
	working map[int]bool
}

// Work says whether there is work now. An environment that says how much garbage may gather is obeyed instead.
func (b *Breath) Work(some bool) { b.hear(0, some) }

// Voice returns a Work for those who know nothing of each other: there is work as long as any of them has some.
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

// percentFor is how much garbage may gather beside so many bytes in use. It moves in steps, since each change stops
// everything for a moment.
func percentFor(live, room uint64, least, most int) int {
	const step = 10
	if live == 0 {
		return most
	}
	percent := int(room * 100 / live) //nolint:gosec // far below the largest number
	return min(max(percent/step*step, least), most)
}

// inUse is what the last collection left of the heap.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (b *Breath) exhale() {
	if b.rested() {
		// A failure means that the process stays as large as it is.
		_ = Shrink()
		b.settle()
	}
}

// rested says that no work came in the last moment. What follows from that takes a while, which work does not wait for.
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

// settle bounds what gathers until there is work again.
func (b *Breath) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.percent == 0 {
		debug.SetGCPercent(percentFor(inUse(), roomAtRest, leastAtRest, garbage))
	}
}
