// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A run over a limit is asked to stop, by a signal to tofu alone: providers finish what they are creating, and tofu stores it.
// Whatever else the run has started is killed only when waiting would harm others.

const (
	// growthPatience is how long what a run takes may grow after it was asked to stop.
	growthPatience = 2 * time.Second
	// freeingPatience is how long the kernel may take to free what killed processes had.
	freeingPatience = time.Second
)

// overrun is a run that was asked to stop for what it takes of a resource.
type overrun struct {
	of    resource
	since time.Time
	// then is what it took when it was asked, most what it may take.
	then, most int64
	// ended is when what it had started was killed first.
	ended time.Time
}

// pressure is what is done to such a run next.
type pressure string

const (
	letSave       pressure = "let it save what it has"
	endOthers     pressure = "end what it has started"
	endEverything pressure = "end it"
)

// next says what to do with a run that takes so much now. With scarce the runs together take more than the machine can spare.
func (o *overrun) next(now time.Time, taken run.Resources, scarce bool) pressure {
	amount := o.of.of(taken)
	urgent := amount > o.most+o.most/4 || scarce && o.of.name == memoryName
	switch {
	case !o.ended.IsZero() && now.Sub(o.ended) >= freeingPatience && urgent && o.of.name == memoryName:
		return endEverything // it is tofu itself, which heeds no signal while it evaluates
	case !o.ended.IsZero():
	case urgent, o.of.name == processesName: // each may be starting more
		o.ended = now
	case now.Sub(o.since) >= growthPatience && amount > o.then:
		o.ended = now
	default:
		return letSave
	}
	return endOthers
}
