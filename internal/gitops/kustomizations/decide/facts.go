// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// Facts are all that a decision depends on.
type Facts struct {
	Now           time.Time
	Kustomization Kustomization
	Source        Source
	Dependencies  []Dependency
	// Cycle names the Kustomizations of a circle that this one is in, in the order in which they depend on each other.
	Cycle   []string
	Applied Applied
	Health  Health
}

// Kustomization is what the object says.
type Kustomization struct {
	Deleting, Suspended bool
	// Invalid says what in the spec can never work; empty when nothing. InvalidReason is its condition's reason.
	Invalid, InvalidReason  string
	Interval, RetryInterval time.Duration
	Timeout                 time.Duration
	// Requested and Handled are the last request to look now and the one that was answered.
	Requested, Handled string
	// Watched is true when changes of the applied objects are heard of; a remote cluster is not watched.
	Watched bool
}

// Source is where the manifests come from.
type Source struct {
	// Name is its kind and name.
	Name string
	// Denied and Missing say that it must not be read and that it does not exist; Reason is what the API said.
	Denied, Missing bool
	Reason          string
	// Revision is its artifact's; empty when it has none.
	Revision string
}

// Dependency is another Kustomization that must be ready before.
type Dependency struct {
	Name                     string
	Missing, Denied, Ready   bool
	SameSource, SameRevision bool
	// ByExpression is true when an expression decided, not the dependency's own condition. Invalid says what is wrong with it.
	ByExpression bool
	Invalid      string
	// Failure is why the expression could not be evaluated.
	Failure string
}

// Applied is what is remembered of the last pass.
type Applied struct {
	// Known is false after a restart.
	Known bool
	// Key and WantedKey stand for what was attempted last and what would be attempted now.
	Key, WantedKey string
	// Failed is true when the last attempt failed, At when it ended.
	Failed bool
	At     time.Time
	// Lasting is true when another attempt is of no use before the key is another.
	Lasting bool
	// Dirty is how many objects are not as they were left.
	Dirty int
	// Drifts is how many times in a row such changes were undone, Drifted when they last were.
	Drifts  int
	Drifted time.Time
	// Freed is true when an object that others kept from being applied has become free.
	Freed bool
}

// Health is what is known of the health of what was applied.
type Health struct {
	// Checked is false when nothing is checked.
	Checked bool
	// Waiting is true while not all are healthy, Since when that began, Looked when they were last looked at.
	Waiting bool
	Since   time.Time
	Looked  time.Time
	// Changed is true when an object that is checked has changed since it was looked at.
	Changed bool
	// Polled is true when an object that is checked is not watched.
	Polled bool
	// Failed is true when they are waited for no longer: the time was up or an object has failed.
	Failed bool
}
