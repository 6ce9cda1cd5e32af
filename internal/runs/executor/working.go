// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

// Working tells whether a run is in hand, whichever stack's it is. As long as it is, its lock is in use.
func (e *Executor) Working(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.hand[id]
	return ok
}
