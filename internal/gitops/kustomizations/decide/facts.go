// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// Facts are all facts of a decision.
type Facts struct {
	Now           time.Time
	Kustomization Kustomization
	Source        Source
	Dependencies  []Dependency
	// Cycle lists the Kustomizations of a cycle of dependencies with this one.
	Cycle   []string
	Applied Applied
	Health  Health
}

// Kustomization contains the facts about the object.
type Kustomization struct {
	Deleting, Suspended bool
	// Moved says that another home works on it; empty if not.
	Moved string
	// Invalid is a problem of the spec; empty for none. InvalidReason is the condition's reason.
	Invalid, InvalidReason  string
	Interval, RetryInterval time.Duration
	Timeout                 time.Duration
	// Requested is the current request for a reconciliation, Handled the last handled one.
	Requested, Handled string
	// Watched is true if the applied objects are watched. Those of remote clusters are not.
	Watched bool
}

// Source contains the facts about the source.
type Source struct {
	// Name is its kind and name.
	Name string
	// Denied is true if it must not be read, Missing if it does not exist; Reason is the message.
	Denied, Missing bool
	Reason          string
	// Revision is that of its artifact; empty if it has none.
	Revision string
}

// Dependency contains the facts about another Kustomization that must be ready first.
type Dependency struct {
	Name                     string
	Missing, Denied, Ready   bool
	SameSource, SameRevision bool
	// ByExpression: an expression decides, not the Ready condition. Invalid is its problem.
	ByExpression bool
	Invalid      string
	// Failure is why the expression could not be evaluated.
	Failure string
}

// Applied contains the facts about the last attempt.
type Applied struct {
	// Known is false after a restart.
	Known bool
	// Key is that of the last attempt, WantedKey the current one.
	Key, WantedKey string
	// Failed is true if the last attempt failed, At when it ended.
	Failed bool
	At     time.Time
	// Lasting is true if retrying is useless until the key changes.
	Lasting bool
	// Dirty is the number of dirty objects.
	Dirty int
	// Drifts is the number of consecutive corrections of drift, Drifted the time of the last one.
	Drifts  int
	Drifted time.Time
	// Freed is true if an object no longer belongs to another owner.
	Freed bool
}

// Health contains the facts about the health of the applied objects.
type Health struct {
	// Checked is false if nothing is checked.
	Checked bool
	// Waiting is true if not all are healthy, Since is when that began. Looked is the time of the
	// last check.
	Waiting bool
	Since   time.Time
	Looked  time.Time
	// Changed is true if a checked object has changed since.
	Changed bool
	// Polled is true if a checked object is not watched.
	Polled bool
	// Failed is true if the check failed, by its timeout or because an object has failed.
	Failed bool
}
