// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
)

const (
	// repeatPause is how long an equal event is suppressed, as in Flux.
	repeatPause = 5 * time.Minute
	// maxRecent limits the remembered objects.
	maxRecent = 10000
)

// recent contains the recently dispatched events, by object.
type recent struct {
	objects map[string]map[string]mention
	pruned  time.Time
}

// mention is a dispatched event.
type mention struct {
	at       time.Time
	severity string
}

// seen reports whether an equal event was dispatched recently, and remembers the event. An event of
// another severity in between makes it new again: a failure, a success, and the same failure.
func (r *recent) seen(e eventv1.Event, now time.Time) bool {
	r.prune(now)
	object := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
	told := r.objects[object]
	key := eventKey(e)
	if before, ok := told[key]; ok && now.Sub(before.at) < repeatPause {
		return true
	}
	if told == nil {
		told = map[string]mention{}
		r.objects[object] = told
	}
	// Progress is neither a failure nor a success.
	if e.Reason != meta.ProgressingReason {
		for other, m := range told {
			if m.severity != e.Severity {
				delete(told, other)
			}
		}
	}
	told[key] = mention{now, e.Severity}
	return false
}

// prune forgets old events at intervals, and everything if there are too many objects.
func (r *recent) prune(now time.Time) {
	if r.objects == nil || len(r.objects) > maxRecent {
		r.objects = map[string]map[string]mention{}
	}
	if now.Sub(r.pruned) < repeatPause {
		return
	}
	r.pruned = now
	for object, told := range r.objects {
		for key, m := range told {
			if now.Sub(m.at) >= repeatPause {
				delete(told, key)
			}
		}
		if len(told) == 0 {
			delete(r.objects, object)
		}
	}
}
