// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// lookInterval is how often a stack is compared with the world. One that reads the world while planning is never proven
// by its configuration alone: it is planned on the object's own interval, however much later drift is looked for. That
// drift is not looked for at all says that nothing is to be planned by the clock, and is obeyed.
func lookInterval(f Facts) time.Duration {
	if f.ReadsWorld != "" && f.Stack.WorldInterval > 0 {
		return min(f.Stack.Interval, f.Stack.WorldInterval)
	}
	return f.Stack.Interval
}

// lookMessage says why the stack is compared with the world now.
func lookMessage(f Facts) string {
	if f.Now.Before(f.LastDriftCheck.Add(f.Stack.Interval)) {
		return "Planning again because the program reads external data: " + f.ReadsWorld
	}
	if f.Stack.Force && appliesByItself(f.Stack) {
		return "Planning and applying on the interval (spec.force)"
	}
	return "Checking for drift"
}
