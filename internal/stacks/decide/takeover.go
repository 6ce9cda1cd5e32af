// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Takeover is the state of a deleted stack that this one adopted, for it has the same name.
type Takeover struct {
	// From is the deleted stack, NAMESPACE/NAME. Deleted is zero if unknown.
	From    string
	Deleted time.Time
}

func (t Takeover) String() string {
	if t.Deleted.IsZero() {
		return fmt.Sprintf("the state of %s (deleted)", t.From)
	}
	return fmt.Sprintf("the state of %s (deleted %s)", t.From, t.Deleted.UTC().Format(time.RFC3339))
}

// takeoverMessage says why a plan waits although the stack applies automatically.
func takeoverMessage(f Facts) string {
	return fmt.Sprintf("Plan %s waits for approval although plans are applied automatically: the stack took over %s, and the plan changes it. "+
		"Review it, then: yuba approve %s. To start with an empty state instead: yuba state drop %s",
		f.Pending.ID, f.Takeover, f.Stack.Call, f.Stack.Call)
}

// deletionOfTakeover: no person has approved that this stack changes, let alone destroys, the
// adopted state.
func deletionOfTakeover(f Facts) (Decision, bool) {
	if f.Takeover == nil {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Reason: ReasonStateTakenOver, Message: fmt.Sprintf(
		"Deletion waits: destroying what the stack manages would destroy what is in %s, which it took over and nobody approved. "+
			"To destroy it: yuba state adopt %s. To keep it: set destroyResourcesOnDeletion: false", f.Takeover, f.Stack.Call)}, true
}
