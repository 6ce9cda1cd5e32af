// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
)

// outcome is the result of an attempt.
type outcome struct {
	key           string
	ended         time.Time
	failed, final bool
	// removal is true for the uninstall of a deleted HelmRelease.
	removal    bool
	retryAfter time.Duration
	// stored identifies the stored release as it was left; empty if unknown.
	stored string
}

// memory is what is known of a HelmRelease between passes.
type memory struct {
	uid    types.UID
	cancel context.CancelCauseFunc
	// removing is true if the running attempt uninstalls.
	removing bool
	last     *outcome
}

// memories are those of all HelmReleases.
type memories struct {
	mu sync.Mutex
	of map[types.NamespacedName]*memory
}

// errDeleted ends the attempt of a deleted HelmRelease.
var errDeleted = errors.New("the HelmRelease was deleted")

// of returns the memory of an object; a new one of the same name has a new one. The caller holds mu.
func (m *memories) get(name types.NamespacedName, uid types.UID) *memory {
	if m.of == nil {
		m.of = map[types.NamespacedName]*memory{}
	}
	mem := m.of[name]
	if mem == nil || mem.uid != uid && mem.cancel == nil {
		mem = &memory{uid: uid}
		m.of[name] = mem
	}
	return mem
}

// facts returns whether an attempt runs, and the last one.
func (m *memories) facts(name types.NamespacedName, uid types.UID) (busy, removing bool, last decide.Last) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(name, uid)
	if o := mem.last; o != nil && mem.uid == uid {
		last = decide.Last{Known: true, Key: o.key, Ended: o.ended, Removal: o.removal, Failed: o.failed, Final: o.final, RetryAfter: o.retryAfter}
	}
	return mem.cancel != nil, mem.removing, last
}

func (m *memories) begin(name types.NamespacedName, uid types.UID, removing bool, cancel context.CancelCauseFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(name, uid)
	mem.cancel, mem.removing = cancel, removing
}

func (m *memories) end(name types.NamespacedName, uid types.UID, out outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil && mem.uid == uid {
		mem.cancel, mem.last = nil, &out
	}
}

// rest records that nothing has changed since the last attempt.
func (m *memories) rest(name types.NamespacedName, uid types.UID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil && mem.uid == uid && mem.last != nil {
		mem.last.ended = now
	}
}

// left returns what identifies the stored release as the last attempt left it.
func (m *memories) left(name types.NamespacedName, uid types.UID) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.of[name]
	if mem == nil || mem.uid != uid || mem.last == nil || mem.last.failed {
		return "", false
	}
	return mem.last.stored, mem.last.stored != ""
}

// unknown forgets the last attempt, so that the next one begins at once.
func (m *memories) unknown(name types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(name, uid).last = nil
}

func (m *memories) cancel(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil && mem.cancel != nil {
		mem.cancel(errDeleted)
	}
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[name]; mem != nil && mem.cancel != nil {
		mem.cancel(errDeleted)
	}
	delete(m.of, name)
}
