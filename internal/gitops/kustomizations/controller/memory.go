// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// memory is a Kustomization's memory between passes. The book replaces it, never changes it.
type memory struct {
	uid types.UID
	// key is the digest of the last attempt's input; empty if the attempt must be repeated.
	key string
	// failed, lasting and at are the result and the time of the last attempt.
	failed, lasting bool
	at              time.Time
	// objects are the applied objects.
	objects map[engine.ID]engine.Applied
	health  health
	// settled is the number of objects after the last pruning; negative if unknown.
	settled int
	// drifts is the number of consecutive corrections of drift, drifted the time of the last one.
	drifts  int
	drifted time.Time
}

// calm is the time without drift after which its count restarts.
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
	// freed are those that may apply an object that belonged to another one.
	freed map[engine.Owner]bool
}

func newBook() *book {
	return &book{memories: map[engine.Owner]*memory{}, freed: map[engine.Owner]bool{}}
}

// read returns the memory of a Kustomization; nil if there is none.
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

// invalidate makes the next pass repeat the attempt.
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

// takeFreed clears the mark, because an attempt begins.
func (b *book) takeFreed(owner engine.Owner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.freed, owner)
}
