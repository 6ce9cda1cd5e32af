// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/notify/throttle"
)

// entry is a receiver that accepts hooks.
type entry struct {
	receiver *notificationv1.Receiver
	path     string
	token    string
	targets  []target
	filter   filter
	limit    *rate.Limiter
	// life ends when the receiver is changed or deleted, and with it its expressions.
	life context.Context
	end  context.CancelFunc
	// told limits reports of each problem.
	told *throttle.Throttle
}

// target is one of a receiver's resources.
type target struct {
	gvk       schema.GroupVersionKind
	namespace string
	// name is empty if labels select the objects.
	name   string
	labels map[string]string
	filter filter
}

// hooksPerSecond and hooksAtOnce limit the hooks of a receiver.
const (
	hooksPerSecond = 1000
	hooksAtOnce    = 2000
)

// pathKey is a keyed digest of a path, so that the time of a search reveals nothing about others.
type pathKey [sha256.Size]byte

// table contains the receivers by path.
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

// has reports whether the table contains a receiver.
func (t *table) has(name types.NamespacedName) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.paths[name]
	return ok
}

// set replaces a receiver's entry; nil removes it.
func (t *table) set(name types.NamespacedName, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.paths[name]; ok {
		was := t.byPath[old]
		if e != nil {
			// Reports and hooks before a change still count.
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
		e.limit, e.told = rate.NewLimiter(hooksPerSecond, hooksAtOnce), &throttle.Throttle{}
	}
	if e.life == nil {
		e.life, e.end = context.WithCancel(context.Background())
	}
	key := t.key(e.path)
	t.byPath[key], t.paths[name] = e, key
}

// isStill reports whether a receiver is the same for its hooks.
func (e *entry) isStill(was *entry) bool {
	return e.path == was.path && e.token == was.token && e.receiver.UID == was.receiver.UID && e.receiver.Generation == was.receiver.Generation
}
