// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Moved says that "yuba move" has marked the stack, so another home works on it, or will.
type Moved struct {
	// Message says where it is, and what to do.
	Message string
	// Away: it was moved to another home. Otherwise it is arriving, and not complete yet.
	Away bool
}

// moved keeps a marked stack from running here, even if somebody resumes it.
func moved(f Facts) (Decision, bool) {
	if f.Stack.Moved == nil {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Reason: ReasonMoved, Message: f.Stack.Moved.Message}, true
}

// deletionOfMoved never destroys: the resources belong to the stack at the other home. A stack that
// was moved away is only a copy, even if it is suspended.
func deletionOfMoved(f Facts) (Decision, bool) {
	switch m := f.Stack.Moved; {
	case m == nil:
		return Decision{}, false
	case m.Away:
		return Decision{Verb: VerbRelease, Reason: ReasonDeleted, Message: "The stack was moved to another home; its resources are kept"}, true
	}
	return moved(f)
}
