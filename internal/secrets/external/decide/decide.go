// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// The words of the API.
const (
	createMerge             = "Merge"
	createNone              = "None"
	createOwner             = "Owner"
	deleteDelete            = "Delete"
	reasonSecretDeleted     = "SecretDeleted"
	reasonSecretMissing     = "SecretMissing"
	reasonSecretSynced      = "SecretSynced"
	reasonSecretSyncedError = "SecretSyncedError"
	refreshCreatedOnce      = "CreatedOnce"
	refreshOnChange         = "OnChange"
	refreshPeriodic         = "Periodic"
)

// Retry is when a store that failed is tried again, unless the refresh interval is shorter; shortest bounds it.
// Recheck is the same for mistakes in objects of the API. Most of these objects are watched, but not all of them:
// namespaces and the credentials of other namespaces are not.
const (
	Retry    = 30 * time.Second
	Recheck  = 300 * time.Second
	shortest = time.Second
)

// Outcome is how an attempt ended.
type Outcome int

// The outcomes. Mistaken is a failure that a change of an object of the API mends. Late is one of a store that did not
// answer in time.
const (
	Done Outcome = iota
	Failed
	Mistaken
	Late
)

// Facts are everything that a refresh depends on.
type Facts struct {
	Now time.Time
	// Policy and Interval are those of the spec.
	Policy   string
	Interval time.Duration
	// Refreshed is when secrets were last read; zero for never. Synced and Version identify the spec of that
	// time, and of now.
	Refreshed       time.Time
	Synced, Version string
	// Ready is the status of the condition.
	Ready bool
	// TargetStands: the target has what was last written. It is true if none is written.
	TargetStands bool
	// Immutable: the target exists and cannot be changed.
	Immutable bool
}

// Refresh is the decision about reading secrets.
type Refresh struct {
	// Read: read them now, for the reason.
	Read   bool
	Reason string
	// Next is when to decide again; 0 for when something changes.
	Next time.Duration
}

// rows are the rules: the first that holds decides.
var rows = []struct {
	read   bool
	reason string
	holds  func(Facts) bool
}{
	{false, "the target is immutable", func(f Facts) bool { return f.Immutable && f.Ready }},
	{true, "the secrets were never read", func(f Facts) bool { return f.Refreshed.IsZero() || f.Synced == "" }},
	// A failed attempt is repeated whatever the policy: nothing was created yet, or an old value is there.
	{true, "the last attempt failed", func(f Facts) bool { return !f.Ready }},
	{true, "somebody changed or deleted the target", func(f Facts) bool { return !f.TargetStands }},
	{false, "the secrets are read once", func(f Facts) bool { return f.Policy == refreshCreatedOnce }},
	// An interval of 0 alone means the same as CreatedOnce, as it is published.
	{false, "the secrets are read once", func(f Facts) bool { return f.Policy != refreshOnChange && f.Interval <= 0 }},
	{true, "the object changed", func(f Facts) bool { return f.Synced != f.Version }},
	{false, "the secrets are read when the object changes", func(f Facts) bool { return f.Policy == refreshOnChange }},
	{true, "the refresh interval has passed", func(f Facts) bool { return !f.Now.Before(f.Refreshed.Add(f.Interval)) }},
	// A clock that was wrong must not stop refreshes.
	{true, "the last refresh is in the future", func(f Facts) bool { return f.Refreshed.After(f.Now.Add(60 * time.Second)) }},
	{false, "the secrets are fresh", func(Facts) bool { return true }},
}

// Due decides whether secrets are read now.
func Due(f Facts) Refresh {
	for _, row := range rows {
		if !row.holds(f) {
			continue
		}
		r := Refresh{Read: row.read, Reason: row.reason}
		if !r.Read && periodic(f) && !f.Immutable {
			r.Next = max(f.Refreshed.Add(f.Interval).Sub(f.Now), shortest)
		}
		return r
	}
	return Refresh{} // the last row holds always
}

// Leaves decides whether the target of an earlier spec can be given up without a refresh: its values must be in the new one
// first, because it may have the only copy. A change of the object that asks for no refresh, such as a label on one that is
// read once, must not keep it for ever.
func Leaves(f Facts) bool {
	return f.Ready && f.TargetStands && (f.Synced == f.Version || !Due(f).Read)
}

func periodic(f Facts) bool {
	return f.Interval > 0 && (f.Policy == "" || f.Policy == refreshPeriodic)
}

// After is when to decide again after an attempt; 0 for when something changes.
func After(f Facts, o Outcome) time.Duration {
	bound := map[Outcome]time.Duration{Failed: Retry, Mistaken: Recheck}[o]
	switch {
	case o == Late: // it had a turn all the time, so a short interval must not repeat it at once
		return Recheck
	case bound > 0 && periodic(f):
		return max(min(f.Interval, bound), shortest)
	case periodic(f):
		return max(f.Interval, shortest)
	}
	return bound
}

// Verb is what to do with the target.
type Verb string

// The verbs.
const (
	Write  Verb = "write"
	Delete Verb = "delete"
	Clear  Verb = "clear"
	Leave  Verb = "leave"
	Fail   Verb = "fail"
)

// Target are the facts about the Secret to write.
type Target struct {
	Name string
	// Creation and Deletion are the policies.
	Creation, Deletion string
	// Exists: there is such a Secret. Owner is the object that owns it, with its kind, and Ours says that it is this one.
	Exists bool
	Owner  string
	Ours   bool
	// OurKeys: it has keys that this object wrote. OthersKeys: it has keys that somebody else wrote.
	OurKeys, OthersKeys bool
	// Found: the store has at least one of the secrets.
	Found bool
}

// Act is the decision about the target.
type Act struct {
	Verb            Verb
	Reason, Message string
	// Same: the target had it already, so nothing was written.
	Same bool
	// Stays is why the target of an earlier spec could not be given up; empty if it was, or if there is none.
	Stays string
}

var acts = []struct {
	verb    Verb
	reason  string
	message func(Target) string
	holds   func(Target) bool
}{
	{Leave, reasonSecretSynced, says("the secrets were read; creationPolicy None writes no Secret"), func(t Target) bool { return t.Creation == createNone && t.Found }},
	{Leave, reasonSecretDeleted, says("the store has none of the secrets"), func(t Target) bool { return t.Creation == createNone }},
	{Fail, reasonSecretSyncedError, func(t Target) string {
		return fmt.Sprintf("Secret %s belongs to the %s. Name another target", t.Name, t.Owner)
	}, func(t Target) bool {
		return t.Exists && t.Owner != "" && !t.Ours && t.Creation == createOwner
	}},
	{Leave, reasonSecretDeleted, says("the store has none of the secrets, and there is no Secret"), func(t Target) bool { return !t.Found && !t.Exists }},
	// Only the Secret that this object made may go, and not with the values of others.
	{Delete, reasonSecretDeleted, says("the store has none of the secrets any more, so the Secret was deleted"), func(t Target) bool {
		return !t.Found && t.Deletion == deleteDelete && t.Creation == createOwner && t.Ours && !t.OthersKeys
	}},
	{Leave, reasonSecretDeleted, func(t Target) string {
		return fmt.Sprintf("the store has none of the secrets, and Secret %s has none of their keys", t.Name)
	}, func(t Target) bool { return !t.Found && !t.OurKeys }},
	{Clear, reasonSecretDeleted, says("the store has none of the secrets any more, so their keys were removed"), func(t Target) bool {
		return !t.Found
	}},
	{Leave, reasonSecretMissing, func(t Target) string {
		return fmt.Sprintf("Secret %s does not exist, and creationPolicy Merge does not create it", t.Name)
	}, func(t Target) bool { return t.Creation == createMerge && !t.Exists }},
	{Write, reasonSecretSynced, says("secret synced"), func(Target) bool { return true }},
}

func says(message string) func(Target) string { return func(Target) string { return message } }

// For decides what happens to the target. Secrets that the store lacks while deletionPolicy is Retain are an error
// before this decision.
func For(t Target) Act {
	for _, row := range acts {
		if row.holds(t) {
			return Act{Verb: row.verb, Reason: row.reason, Message: row.message(t)}
		}
	}
	return Act{} // the last row holds always
}
