// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
)

const (
	// repeatPause is how long the same event is not told again, as with Flux.
	repeatPause = 5 * time.Minute
	// maxRecent bounds for how many objects that is known.
	maxRecent = 10000
)

// recent is what was told lately.
type recent struct {
	objects map[string]map[string]mention
	pruned  time.Time
}

// mention is when an event was told.
type mention struct {
	at       time.Time
	severity string
}

// seen tells whether the event was told lately, and remembers it. What is the other way round since then counts as news:
// a failure after a success that came after the same failure.
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
	// That something is under way decides nothing.
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

// prune forgets what is over, from time to time, and everything when there is too much of it.
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

// throttle keeps the same trouble from being told again and again.
type throttle struct {
	mu   sync.Mutex
	told map[string]time.Time
}

const (
	tellPause = time.Minute
	maxTold   = 1000
)

func (t *throttle) may(key string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.told[key]; ok && now.Sub(at) < tellPause {
		return false
	}
	if t.told == nil || len(t.told) >= maxTold {
		t.told = map[string]time.Time{}
	}
	t.told[key] = now
	return true
}
