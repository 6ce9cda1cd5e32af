// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import "sync"

// effort is how many passes write something now.
type effort struct {
	mu sync.Mutex
	n  int
}

// atWork tells that something is written from now on, until done is called.
func (r *Tenants) atWork() (done func()) {
	if r.Busy == nil {
		return func() {}
	}
	add := func(n int) {
		r.effort.mu.Lock()
		defer r.effort.mu.Unlock()
		r.effort.n += n
		r.Busy(r.effort.n > 0)
	}
	add(1)
	return func() { add(-1) }
}
