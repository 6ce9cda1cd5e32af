// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package throttle

import (
	"sync"
	"time"
)

const (
	// pause is the minimum time between two reports of the same problem.
	pause = time.Minute
	// most limits the remembered problems; beyond it, all are forgotten.
	most = 1000
)

// Throttle remembers reported problems. The zero value is ready.
type Throttle struct {
	mu   sync.Mutex
	told map[string]time.Time
}

// May reports whether to report a problem now, and remembers that it is reported.
func (t *Throttle) May(problem string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.told[problem]; ok && now.Sub(at) < pause {
		return false
	}
	if t.told == nil || len(t.told) >= most {
		t.told = map[string]time.Time{}
	}
	t.told[problem] = now
	return true
}
