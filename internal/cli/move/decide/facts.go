// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Phase is the progress of a move in the target's record.
type Phase string

const (
	// PhaseMoving: objects and content are being copied; all are suspended at both homes.
	PhaseMoving Phase = "moving"
	// PhaseVerified: everything was copied and compared. Objects at the target may work already.
	PhaseVerified Phase = "verified"
	// PhaseDone: everything works at the target.
	PhaseDone Phase = "done"
	// PhaseCanceled: the source works again, and the target has suspended copies of no consequence.
	PhaseCanceled Phase = "canceled"
)

// The roles of a home in its record.
const (
	RoleSource = "source"
	RoleTarget = "target"
)

// Home is one of the two homes.
type Home struct {
	// ID identifies the API; Name is what the user calls it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Yuba: it serves content.
	Yuba bool `json:"yuba"`
}

// Record is a home's record about a namespace.
type Record struct {
	// Move is empty without a record.
	Move string
	Role string
	// Home and Name are the other home.
	Home, Name string
	Phase      Phase
}

// Over reports whether nothing is left to do.
func (r Record) Over() bool { return r.Phase == PhaseDone || r.Phase == PhaseCanceled }

// Facts are all inputs of a plan.
type Facts struct {
	From, To Home
	// Namespaces are those to move.
	Namespaces []Namespace
	Objects    []Object
	// Definitions declare the application kinds of objects to move.
	Definitions []Definition
	// Breakers are the open circuit breakers of the source.
	Breakers []Breaker
}

// Definition declares an application kind.
type Definition struct {
	// Name and Kind are those of the source's definition and of what it declares.
	Name, Kind string
	// Exists: the target has a definition of that name; Same: it means the same.
	Exists, Same bool
	// Rival is the definition with which the target serves the kind, if that has another name.
	Rival string
	// Served is false if the target does not serve the kind of definitions.
	Served bool
}

// Breaker is an open CircuitBreaker.
type Breaker struct {
	Name string
	// Namespaces are those that it covers; empty for all.
	Namespaces []string
	// AtTarget: the target has an open one of that name.
	AtTarget bool
}

// Namespace is a namespace to move.
type Namespace struct {
	Name string
	// Missing: the source does not have it. Deleting: one of the homes is deleting it.
	Missing, Deleting bool
	// Exists: the target has it.
	Exists bool
	// TooMany is the number of objects if the records have no room for all; else 0.
	TooMany int
	// Source and Target are the records.
	Source, Target Record
}

// Object is an object at the source, and what the target has in its place.
type Object struct {
	Kind, Namespace, Name string
	// Active: it is suspended and marked.
	Active bool
	// Skip says why objects like this are never moved; Served is false if the target does not serve
	// the kind.
	Skip   string
	Served bool
	// Deleting: it is being deleted. Blocked says what else prevents moving it now, and what to do.
	Deleting bool
	Blocked  string
	// Notes are worth knowing before the move.
	Notes []string
	// MovedTo is the home in the mark of the source's object, MovedToName its name; empty without.
	MovedTo, MovedToName string
	// Arriving: the source's object is marked as incomplete.
	Arriving bool
	// Target is what the target has.
	Target Counterpart
}

// Counterpart is the object of the same kind and name at the target.
type Counterpart struct {
	Exists bool
	// Same: it has the content that the move would give it.
	Same bool
	// Listed: the target's record lists it; Current: for the move that the record is about now,
	// because it is to be written, or was equal.
	// Unchanged: it is as the record says.
	Listed, Current, Unchanged bool
	// Works: it is active and without a mark, so the target's controllers work on it.
	Works bool
	// Deleting: it is being deleted there.
	Deleting bool
	// Unchangeable says why the target's API would refuse to update it.
	Unchangeable string
}
