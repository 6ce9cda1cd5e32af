// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// entry is a receiver as hooks meet it.
type entry struct {
	receiver *notificationv1.Receiver
	path     string
	token    string
	targets  []target
	filter   filter
	limit    *rate.Limiter
	// life ends when the receiver is changed or deleted, and with it what is being found out for its hooks.
	life context.Context
	end  context.CancelFunc

	mu   sync.Mutex
	told map[string]time.Time
}

// target is one of a receiver's resources.
type target struct {
	gvk       schema.GroupVersionKind
	namespace string
	// name is empty when labels choose.
	name   string
	labels map[string]string
	filter filter
}

// A receiver takes so many hooks in a second, and so many at once.
const (
	hooksPerSecond = 1000
	hooksAtOnce    = 2000
)

// tellPause is how often the same trouble with a receiver is told, at most.
const tellPause = time.Minute

// mayTell tells whether trouble of the kind was not told lately.
func (e *entry) mayTell(kind string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := e.told[kind]; ok && now.Sub(at) < tellPause {
		return false
	}
	if e.told == nil {
		e.told = map[string]time.Time{}
	}
	e.told[kind] = now
	return true
}

// pathKey is a path under a key that nobody outside knows, so that how long it takes to look one up tells nothing about
// those that exist.
type pathKey [sha256.Size]byte

// table is which receiver has which path.
type table struct {
	salt [32]byte

	mu     sync.RWMutex
	byPath map[pathKey]*entry
	paths  map[types.NamespacedName]pathKey
}

func newTable() *table {
	t := &table{byPath: map[pathKey]*entry{}, paths: map[types.NamespacedName]pathKey{}}
	rand.Read(t.salt[:]) //nolint:errcheck // it never fails
	return t
}

func (t *table) key(path string) pathKey {
	mac := hmac.New(sha256.New, t.salt[:])
	mac.Write([]byte(path))
	return pathKey(mac.Sum(nil))
}

func (t *table) find(path string) *entry {
	key := t.key(path)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byPath[key]
}

// has tells whether a receiver has a path.
func (t *table) has(name types.NamespacedName) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.paths[name]
	return ok
}

// set puts a receiver into the place of what it was; nil takes it out.
func (t *table) set(name types.NamespacedName, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.paths[name]; ok {
		was := t.byPath[old]
		if e != nil {
			// What was told, and how many hooks came, outlives a change.
			e.told, e.limit = was.told, was.limit
		}
		if e != nil && e.isStill(was) {
			e.life, e.end = was.life, was.end
		} else {
			was.end()
		}
		delete(t.byPath, old)
		delete(t.paths, name)
	}
	if e == nil {
		return
	}
	if e.limit == nil {
		e.limit = rate.NewLimiter(hooksPerSecond, hooksAtOnce)
	}
	if e.life == nil {
		e.life, e.end = context.WithCancel(context.Background())
	}
	key := t.key(e.path)
	t.byPath[key], t.paths[name] = e, key
}

// isStill tells whether nothing of a receiver has changed that its hooks depend on.
func (e *entry) isStill(was *entry) bool {
	return e.path == was.path && e.token == was.token && e.receiver.UID == was.receiver.UID && e.receiver.Generation == was.receiver.Generation
}
