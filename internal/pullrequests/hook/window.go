// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// remember is longer than forges repeat a delivery by themselves.
	remember = 6 * time.Hour
	// most limits the memory: about 2 MB.
	most = 10000
)

type seenKey [sha256.Size]byte

type seen struct {
	keys [2]seenKey
	at   time.Time
}

// Window recognises hooks that came before. It is safe for concurrent use.
type Window struct {
	lock  sync.Mutex
	known map[seenKey]*list.Element
	order list.List // the oldest first
}

// New reports whether a hook is new to its receiver, and remembers it: a forge sends the same bytes to all receivers of a
// repository. Forget it if it could not be handled, so that the forge's next attempt is new again.
func (w *Window) New(receiver string, e Event, body []byte, now time.Time) bool {
	keys := keysOf(receiver, e, body)
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.known == nil {
		w.known = map[seenKey]*list.Element{}
	}
	for first := w.order.Front(); first != nil; first = w.order.Front() {
		if w.order.Len() < most && now.Sub(first.Value.(*seen).at) < remember { //nolint:forcetypeassert // see below
			break
		}
		w.remove(first)
	}
	for _, k := range keys {
		if w.known[k] != nil {
			return false
		}
	}
	element := w.order.PushBack(&seen{keys, now})
	for _, k := range keys {
		w.known[k] = element
	}
	return true
}

// Forget forgets a hook.
func (w *Window) Forget(receiver string, e Event, body []byte) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if element := w.known[keysOf(receiver, e, body)[0]]; element != nil {
		w.remove(element)
	}
}

func (w *Window) remove(element *list.Element) {
	w.order.Remove(element)
	for _, k := range element.Value.(*seen).keys { //nolint:forcetypeassert // nothing else is added
		delete(w.known, k)
	}
}

// keysOf are the digests of the body, and of the delivery's id.
func keysOf(receiver string, e Event, body []byte) [2]seenKey {
	of := receiver + "\n" + e.Repository + "\n"
	content := sha256.Sum256(append([]byte(of), body...))
	if e.Delivery == "" {
		return [2]seenKey{content, content}
	}
	return [2]seenKey{content, sha256.Sum256([]byte("id of " + of + e.Delivery))}
}
