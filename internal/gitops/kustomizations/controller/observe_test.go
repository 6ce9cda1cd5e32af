// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"testing"
)

// attemptLog records every attempt.
type attemptLog struct {
	mu   sync.Mutex
	list []Attempt
}

func (l *attemptLog) add(a Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, a)
}

// last is the last attempt in a namespace, and how many there were.
func (l *attemptLog) last(namespace string) (last Attempt, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.list {
		if a.Name.Namespace == namespace {
			last, n = a, n+1
		}
	}
	return last, n
}

func TestAttemptsAreObserved(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	a, n := running.attempts.last(w.namespace)
	if n == 0 || a.Name.Name != "app" || a.Revision != "main@sha1:1" || a.Failed || a.Took <= 0 || a.Began.IsZero() {
		t.Errorf("%d attempts, the last %+v", n, a)
	}
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": "kind: [\n"})
	w.failing("app", "BuildFailed")
	if a, after := running.attempts.last(w.namespace); after <= n || a.Revision != "main@sha1:2" || !a.Failed {
		t.Errorf("%d attempts, the last %+v", after, a)
	}
}
