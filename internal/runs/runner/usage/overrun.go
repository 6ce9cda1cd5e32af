// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A run over a limit is asked to stop by a signal to tofu alone: providers finish what they create,
// and tofu stores it. Other processes are killed only if waiting would harm others.

const (
	// growthPatience is how long use may grow after the request to stop.
	growthPatience = 2 * time.Second
	// freeingPatience is how long the kernel may take to free the resources of killed processes.
	freeingPatience = time.Second
)

// overrun is a run that was asked to stop for its use of a resource.
type overrun struct {
	of    resource
	since time.Time
	// then is its use at the request, most its limit.
	then, most int64
	// ended is when its processes were first killed.
	ended time.Time
}

// pressure is the next action against such a run.
type pressure string

const (
	letSave       pressure = "let it save its state"
	endOthers     pressure = "end the processes that it started"
	endEverything pressure = "end it"
)

// next returns the next action. With scarce, the runs together exceed what the machine can spare.
func (o *overrun) next(now time.Time, taken run.Resources, scarce bool) pressure {
	amount := o.of.of(taken)
	urgent := amount > o.most+o.most/4 || scarce && o.of.name == memoryName
	switch {
	case !o.ended.IsZero() && now.Sub(o.ended) >= freeingPatience && urgent && o.of.name == memoryName:
		return endEverything // it is tofu itself, which ignores signals while it evaluates
	case !o.ended.IsZero():
	case urgent, o.of.name == processesName: // each may start more
		o.ended = now
	case now.Sub(o.since) >= growthPatience && amount > o.then:
		o.ended = now
	default:
		return letSave
	}
	return endOthers
}
