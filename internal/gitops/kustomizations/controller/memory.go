// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// memory is what is remembered of a Kustomization between passes. What is in the book is never changed, only replaced.
type memory struct {
	uid types.UID
	// key stands for what was attempted last; empty when that does not count any more.
	key string
	// failed, lasting and at say how and when the last attempt ended.
	failed, lasting bool
	at              time.Time
	// objects are what was applied, as it was left.
	objects map[engine.ID]engine.Applied
	health  health
	// settled is how many objects there were when an attempt last came through pruning; below zero when that is not known.
	settled int
	// drifts is how many times in a row somebody's changes were undone, drifted when they last were.
	drifts  int
	drifted time.Time
}

// calm is how long nobody must have changed anything for the next change to be the first again.
const calm = 10 * time.Minute

func (m *memory) countDrift(now time.Time) {
	if now.Sub(m.drifted) > calm {
		m.drifts = 0
	}
	m.drifts++
	m.drifted = now
}

// book holds the memories of all Kustomizations.
type book struct {
	mu       sync.Mutex
	memories map[engine.Owner]*memory
	// freed are those for whom an object may have become free.
	freed map[engine.Owner]bool
}

func newBook() *book {
	return &book{memories: map[engine.Owner]*memory{}, freed: map[engine.Owner]bool{}}
}

// read returns what is remembered of a Kustomization; nil when nothing is.
func (b *book) read(owner engine.Owner) *memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memories[owner]
}

func (b *book) keep(owner engine.Owner, m *memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memories[owner] = m
}

// invalidate makes the next pass that can attempt something do so.
func (b *book) invalidate(owner engine.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.memories[owner]; m != nil && m.key != "" {
		n := *m
		n.key = ""
		b.memories[owner] = &n
	}
}

func (b *book) forget(owner engine.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.memories, owner)
	delete(b.freed, owner)
}

func (b *book) markFreed(owner engine.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed[owner] = true
}

func (b *book) isFreed(owner engine.Owner) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.freed[owner]
}

// takeFreed forgets that something became free; an attempt begins that will see it.
func (b *book) takeFreed(owner engine.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.freed, owner)
}
