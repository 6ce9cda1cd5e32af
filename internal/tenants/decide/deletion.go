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
	// Key stands for the object: its cluster, kind, namespace and name. ID is what the template calls it, or called it.
	Key, ID string
	// Name is its kind and name, for people.
	Name string
	// Needs are the ids of what it depends on. It goes before them.
	Needs []string
	// Retain: it stays, and is marked as orphaned.
	Retain bool
	// Exists, Deleting and Ours are as in [Live].
	Exists, Deleting, Ours bool
	// Refused is the answer to the last attempt, while it is too early for another one; empty for none.
	Refused string
	// Stays is what it says of itself when it is still there although it is being deleted; empty where it says nothing.
	// Finalizers are then those that it waits for.
	Stays      string
	Finalizers []string
}

// GoingVerb is what to do about an object that goes.
type GoingVerb string

const (
	// GoingDelete: delete it.
	GoingDelete GoingVerb = "delete"
	// GoingRetain: take it off the tenant, and mark it as orphaned.
	GoingRetain GoingVerb = "retain"
	// GoingWait: something else has to go first, or it is on its way out.
	GoingWait GoingVerb = "wait"
	// GoingRefused: it could not be deleted or marked.
	GoingRefused GoingVerb = "refused"
	// GoingForget: it is gone, or somebody else's.
	GoingForget GoingVerb = "forget"
)

// ObjectGoing is what to do about one object that goes.
type ObjectGoing struct {
	Key, ID string
	Verb    GoingVerb
	// For are the ids that have to go first.
	For []string
	// Message says why, for people; empty where the verb says all.
	Message string
}

// DeletionDecision is what to do about objects that go.
type DeletionDecision struct {
	// Objects are in the order of the facts.
	Objects []ObjectGoing
	// Done is true when there is nothing left to do or to wait for.
	Done bool
	// Message says what is left, for people.
	Message string
	// Cause is why the first object that does not go stays; empty where nothing is known to be wrong.
	Cause string
}

// Deletion says what to do about objects that go: all of a tenant, or those that it has lost. What depends on an object goes before it.
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
			// Somebody has deleted it, whatever its policy says.
			o.Verb, o.Message = GoingWait, m.Name+" is being deleted"
			switch {
			case m.Stays != "":
				o.Message += ": " + m.Stays
				d.Cause = cmp.Or(d.Cause, o.Message)
			case len(m.Finalizers) > 0:
				o.Message += ": it waits for its finalizers " + list(m.Finalizers)
				waits = cmp.Or(waits, o.Message)
			}
		case m.Refused != "":
			o.Verb, o.Message = GoingRefused, m.Refused
			d.Cause = cmp.Or(d.Cause, m.Refused)
		case m.Retain:
			o.Verb = GoingRetain
		default:
			if o.For = users[m.Key]; len(o.For) > 0 {
				o.Verb, o.Message = GoingWait, fmt.Sprintf("%s goes after %s", m.Name, list(o.For))
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
		d.Message = fmt.Sprintf("%s to go: %s", Count(len(left), "object has", "objects have"), list(left))
	}
	return d
}

// usersOf finds, for each object, those of the others that depend on it, are still there and go, too. A circle, which nobody can have
// declared, does not hold up anything: where it is, the order is that of the list, from its end.
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

// reaches tells whether one object depends on another, over however many others.
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
