// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
)

// Made is an object of a tenant's inventory.
type Made struct {
	// Key identifies the object: its cluster, kind, namespace and name. ID is its id in the
	// template, now or earlier.
	Key, ID string
	// Name is its kind and name, for messages.
	Name string
	// Needs are the ids of its dependencies. It is deleted before them.
	Needs []string
	// Retain: it is kept, and marked as orphaned.
	Retain bool
	// Exists, Deleting and Ours are those of [Live].
	Exists, Deleting, Ours bool
	// Refused is the error of the last attempt while it is too early to retry; empty for none.
	Refused string
	// Stays is the object's own message about why its deletion takes long; may be empty.
	// Finalizers are those it waits for.
	Stays      string
	Finalizers []string
}

// GoingVerb is the action on an object to remove.
type GoingVerb string

const (
	// GoingDelete: delete it.
	GoingDelete GoingVerb = "delete"
	// GoingRetain: release it from the tenant, and mark it as orphaned.
	GoingRetain GoingVerb = "retain"
	// GoingWait: something else must be removed first, or it is being deleted.
	GoingWait GoingVerb = "wait"
	// GoingRefused: deleting or marking it failed.
	GoingRefused GoingVerb = "refused"
	// GoingForget: it no longer exists, or belongs to another owner.
	GoingForget GoingVerb = "forget"
)

// ObjectGoing is the decision about one object to remove.
type ObjectGoing struct {
	Key, ID string
	Verb    GoingVerb
	// For are the ids that must be removed first.
	For []string
	// Message says why; empty if the verb is enough.
	Message string
}

// DeletionDecision is the decision about objects to remove.
type DeletionDecision struct {
	// Objects are in the order of the facts.
	Objects []ObjectGoing
	// Done is true if there is nothing left to do or to wait for.
	Done bool
	// Message describes the remaining objects.
	Message string
	// Cause is why the first remaining object stays; empty if no problem is known.
	Cause string
}

// Deletion decides about objects to remove: all objects of a tenant, or obsolete ones. Objects are
// removed before their dependencies.
func Deletion(objects []Made) DeletionDecision {
	d := DeletionDecision{Done: true}
	var left []string
	waits := ""
	users := usersOf(objects)
	for _, m := range objects {
		o := ObjectGoing{Key: m.Key, ID: m.ID, Verb: GoingForget}
		switch {
		case !m.Exists || !m.Ours:
		case m.Deleting:
			// A person has deleted it, regardless of its policy.
			o.Verb, o.Message = GoingWait, m.Name+" is being deleted"
			switch {
			case m.Stays != "":
				o.Message += ": " + m.Stays
				d.Cause = cmp.Or(d.Cause, o.Message)
			case len(m.Finalizers) > 0:
				o.Message += ": it waits for its finalizers " + List(m.Finalizers)
				waits = cmp.Or(waits, o.Message)
			}
		case m.Refused != "":
			o.Verb, o.Message = GoingRefused, m.Refused
			d.Cause = cmp.Or(d.Cause, m.Refused)
		case m.Retain:
			o.Verb = GoingRetain
		default:
			if o.For = users[m.Key]; len(o.For) > 0 {
				o.Verb, o.Message = GoingWait, fmt.Sprintf("%s is removed after %s", m.Name, List(o.For))
			} else {
				o.Verb = GoingDelete
			}
		}
		d.Objects = append(d.Objects, o)
		if o.Verb != GoingForget {
			left = append(left, m.Name)
			d.Done = false
		}
	}
	d.Cause = cmp.Or(d.Cause, waits)
	if len(left) > 0 {
		d.Message = fmt.Sprintf("%s to go: %s", Count(len(left), "object has", "objects have"), List(left))
	}
	return d
}

// usersOf returns, for each object, the existing other ones to remove that depend on it. A cycle,
// which templates cannot declare, does not block: its objects are removed in reverse order of the
// list.
func usersOf(objects []Made) map[string][]string {
	byID := map[string][]int{}
	for i, m := range objects {
		byID[m.ID] = append(byID[m.ID], i)
	}
	users := map[string][]string{}
	for i, m := range objects {
		if !m.Exists || !m.Ours || m.Retain && !m.Deleting {
			continue
		}
		for _, need := range m.Needs {
			for _, j := range byID[need] {
				if j != i && !reaches(objects, byID, j, i) || j < i {
					users[objects[j].Key] = append(users[objects[j].Key], m.ID)
				}
			}
		}
	}
	for key, ids := range users {
		slices.Sort(ids)
		users[key] = slices.Compact(ids)
	}
	return users
}

// reaches reports whether one object depends on another, directly or not.
func reaches(objects []Made, byID map[string][]int, from, to int) bool {
	seen := map[int]bool{}
	next := []int{from}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if i == to {
			return true
		}
		if seen[i] {
			continue
		}
		seen[i] = true
		for _, need := range objects[i].Needs {
			next = append(next, byID[need]...)
		}
	}
	return false
}
