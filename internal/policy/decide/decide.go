// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Decide decides about one plan.
func Decide(f Facts) Decision {
	return Decision{Outcome: OutcomeRefuse, Reason: ReasonFailed, Bound: f.Bound.Hash()}
}
