// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"
)

// Object is how one object stands.
type Object struct {
	Group, Version, Kind string
	Namespace, Name      string
	// Ready and Reason are its condition Ready's status and reason; empty Ready counts as Unknown.
	Ready, Reason string
	Suspended     bool
	// Paused is true for a stack that a circuit breaker keeps from being tried.
	Paused bool
	// Blocked is true for an object that waits for one that it depends on.
	Blocked bool
	// Revision is what it is at, Source the name of what it is made from.
	Revision, Source string
	// Waits, Drifted and LockedOut are about stacks: the plan waits for a person, drift was found and is still there,
	// somebody else holds the state's lock.
	Waits, Drifted, LockedOut bool
}

// How many values labels have that others than this server choose.
const (
	maxNamespaces = 1000
	maxReasons    = 200
	maxResources  = 200
	// maxLabel is how long such a value may be.
	maxLabel = 100
	others   = "(others)"
)

// limited lets the first values through and calls all later ones others.
type limited struct {
	limit int

	mu   sync.Mutex
	seen map[string]bool
}

func (l *limited) name(value string) string {
	value = strings.ToValidUTF8(value, "?") // a label of anything else ends the process
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[value] {
		return value
	}
	if len(value) > maxLabel || len(l.seen) >= l.limit {
		return others
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[value] = true
	return value
}

// standing is what objects are counted by.
type standing struct{ kind, namespace, ready, reason string }

// place is where objects of a kind are counted.
type place struct{ kind, namespace string }

// census is one count of all objects.
type census struct {
	standing                       map[standing]int
	suspended, failing             map[place]int
	waiting, drifted, locked       map[string]int
	kinds, namespaces, reasonNames limited
}

func collectObjects(send sample, objects func(func(*Object))) {
	c := census{standing: map[standing]int{}, suspended: map[place]int{}, failing: map[place]int{}, waiting: map[string]int{}, drifted: map[string]int{}, locked: map[string]int{},
		kinds: limited{limit: maxResources}, namespaces: limited{limit: maxNamespaces}, reasonNames: limited{limit: maxReasons}}
	objects(c.count)
	for s, n := range c.standing {
		send(&objectsReady, float64(n), s.kind, s.namespace, s.ready, s.reason)
	}
	for f, counts := range map[*family]map[place]int{&objectsHeld: c.suspended, &objectsFail: c.failing} {
		for p, n := range counts {
			send(f, float64(n), p.kind, p.namespace)
		}
	}
	for f, counts := range map[*family]map[string]int{&stacksWaiting: c.waiting, &stacksDrifted: c.drifted, &stacksLocked: c.locked} {
		for namespace, n := range counts {
			send(f, float64(n), namespace)
		}
	}
}

func (c *census) count(o *Object) {
	kind, namespace := c.kinds.name(o.Kind), c.namespaces.name(o.Namespace)
	c.standing[standing{kind, namespace, readyOf(o), c.reasonNames.name(o.Reason)}]++
	if o.Suspended {
		c.suspended[place{kind, namespace}]++
	}
	if readyOf(o) == "False" && !o.Suspended && !o.Paused && !o.Blocked && !o.Drifted {
		c.failing[place{kind, namespace}]++
	}
	if o.Waits {
		c.waiting[namespace]++
	}
	if o.Drifted {
		c.drifted[namespace]++
	}
	if o.LockedOut {
		c.locked[namespace]++
	}
}

func readyOf(o *Object) string {
	switch o.Ready {
	case "True", "False":
		return o.Ready
	}
	return "Unknown"
}
