// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"maps"
	"sync"
	"time"
)

// uses knows which archives are being read, and when each was last. The zero value is ready for use.
type uses struct {
	mu       sync.Mutex
	reading  map[string]int
	last     map[string]time.Time
	evicting map[string]bool
	changed  bool
}

// hold marks an archive as being read; false while it is evicted.
func (u *uses) hold(key string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.evicting[key] {
		return false
	}
	if u.reading == nil {
		u.reading = map[string]int{}
	}
	u.reading[key]++
	u.note(key, now)
	return true
}

func (u *uses) release(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reading[key]--; u.reading[key] <= 0 {
		delete(u.reading, key)
	}
}

func (u *uses) touch(key string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.note(key, now)
}

// note must be called with the lock held.
func (u *uses) note(key string, now time.Time) {
	if u.last == nil {
		u.last = map[string]time.Time{}
	}
	if u.last[key].Before(now) {
		u.last[key], u.changed = now, true
	}
}

// begin marks an archive as being evicted; false if it is being read.
func (u *uses) begin(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reading[key] > 0 || u.evicting[key] {
		return false
	}
	if u.evicting == nil {
		u.evicting = map[string]bool{}
	}
	u.evicting[key] = true
	return true
}

func (u *uses) end(key string, gone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.evicting, key)
	if gone {
		delete(u.last, key)
		u.changed = true
	}
}

// merge adds what other processes noted.
func (u *uses) merge(other map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]time.Time{}
	}
	for key, at := range other {
		if u.last[key].Before(at) {
			u.last[key] = at
		}
	}
}

// all returns the last uses, and whether there are new ones since the last call of saved.
func (u *uses) all() (last map[string]time.Time, changed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.last), u.changed
}

func (u *uses) saved() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed = false
}
