// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import "context"

// As many jobs work at once as the runner's capacity says; each of them has a place. One whose plan is being reviewed
// gives its place up: the services that are asked may take minutes, or hang, and nobody else's runs wait for them.

// maxAside is how many jobs may be without a place: each has its plan in memory at the server.
const maxAside = 64

// takePlace waits for a place, unless the job is to stop.
func (j *job) takePlace(ctx context.Context) {
	waiting, cancel := j.stop.until(ctx)
	defer cancel()
	select {
	case j.places <- struct{}{}:
		j.placed = true
	case <-waiting.Done():
	}
}

func (j *job) leavePlace() {
	if j.placed {
		j.placed = false
		<-j.places
	}
}

// aside does what waits for others, and lets another job work meanwhile.
func (j *job) aside(ctx context.Context, wait func(context.Context) error) error {
	if !j.placed {
		return wait(ctx)
	}
	j.leavePlace()
	j.countAside(1)
	defer func() {
		j.countAside(-1)
		j.takePlace(ctx)
	}()
	return wait(ctx)
}

func (r *runner) countAside(n int) {
	r.mu.Lock()
	r.asideJobs += n
	r.mu.Unlock()
	r.wake()
}

// capacity is how many more jobs may work; r.mu is held.
func (r *runner) capacity() int {
	return max(0, r.opts.Capacity-len(r.active)+min(r.asideJobs, maxAside))
}
