// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/rollout"
	core "github.com/yuba-dev/yuba/internal/objects/rollout"
)

// policy is what a definition says about its rollouts.
type policy struct {
	limit    string
	deadline time.Duration
	paused   bool
}

// patience is how long a changed instance may take to become ready, unless the definition says so.
const patience = 30 * time.Minute

func policyOf(r *appv1.Rollout) policy {
	p := policy{deadline: patience}
	if r == nil {
		return p
	}
	p.paused = r.Paused
	if r.MaxUnavailable != nil {
		p.limit = r.MaxUnavailable.String()
	}
	if r.Deadline != nil && r.Deadline.Duration > 0 {
		p.deadline = r.Deadline.Duration
	}
	return p
}

// open reports whether every instance has its turn.
func (p policy) open() bool { return p.limit == "" && !p.paused }

// wave is an unfinished rollout in memory: what passes found of the instances for exactly this base and
// target, and who has its turn. A later target has another wave, so a pass that began before cannot
// mislead it.
type wave struct {
	revisions.State
	// older are the definitions of the base and of the revisions between it and the target, as far as
	// they are kept and can be read.
	older map[int64]*definition.Definition

	mu     sync.Mutex
	policy policy
	// followed: the watch has all instances.
	followed bool
	members  map[Key]rollout.Instance
	turns    map[Key]turn
	// said is the status that was written last; nil before.
	said *appv1.RolloutStatus
}

// turn is the right of an instance to get the target.
type turn struct {
	// starts: it is on its way from at on.
	starts bool
	at     time.Time
}

func newWave(s revisions.State, older map[int64]*definition.Definition) *wave {
	return &wave{State: s, older: older, members: map[Key]rollout.Instance{}, turns: map[Key]turn{}}
}

func (w *wave) set(p policy) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.policy = p
}

func (w *wave) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed = true
}

// turn returns the turn of an instance.
func (w *wave) turn(k Key, now time.Time) (t turn, has bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, has = w.turns[k]; !has && w.policy.open() {
		return turn{starts: true, at: now}, true
	}
	return t, has
}

// report notes what a pass found, and reports whether that is news.
func (w *wave) report(k Key, m rollout.Instance) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, has := w.turns[k]; has && !m.Target && !m.Broken && !m.Frozen {
		// The pass began before the instance had its turn. Its object may be written at any moment.
		m = t.taken(m)
	}
	before, had := w.members[k]
	w.members[k] = m
	return !had || before != m
}

// taken is an instance that has its turn, until a pass has seen what became of it.
func (t turn) taken(m rollout.Instance) rollout.Instance {
	m.Target, m.Ready, m.Failed, m.Waits, m.Since = true, false, false, false, time.Time{}
	if t.starts {
		m.Since = t.at
	}
	return m
}

func (w *wave) forget(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members, k)
	delete(w.turns, k)
}

// facts are the facts about all instances; whole is false until passes have found all of them.
func (w *wave) facts(all []Key, now time.Time) (f rollout.Facts, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f = rollout.Facts{Now: now, MaxUnavailable: w.policy.limit, Deadline: w.policy.deadline, Paused: w.policy.paused, Last: core.Last{Began: w.Began, Ended: w.Ended, Same: true}}
	for _, k := range all {
		m, known := w.members[k]
		if !known {
			return f, false
		}
		f.Instances = append(f.Instances, m)
	}
	return f, w.followed
}

// grant gives instances their turns, and returns those that had none.
func (w *wave) grant(kind string, updates []core.Update, now time.Time) (keys []Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range updates {
		k := keyNamed(kind, u.Name)
		if _, has := w.turns[k]; has {
			continue
		}
		t := turn{starts: u.Starts, at: now.UTC().Truncate(time.Second)}
		w.turns[k] = t
		if m, known := w.members[k]; known {
			w.members[k] = t.taken(m)
		}
		keys = append(keys, k)
	}
	return keys
}
