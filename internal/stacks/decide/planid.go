// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strconv"
	"strings"
)

// BasePlanID is the id that tofu-controller gives the plan of a source revision:
// `plan-<branch>-<hash>` for `branch@algorithm:hash` and `branch/hash`, else `plan-<revision>`, cut
// to ten characters. Unlike there, the ten characters of a bare `algorithm:hash` are those of the
// hash: with the algorithm, only three digits of a sha256 would be left.
func BasePlanID(revision string) string {
	if branch, sum, ok := strings.Cut(revision, "@"); ok && !strings.Contains(sum, "@") {
		_, hash, found := strings.Cut(sum, ":")
		if !found {
			hash = sum
		}
		return "plan-" + branch + "-" + firstTen(hash)
	}
	if branch, hash, ok := strings.Cut(revision, "/"); ok && !strings.Contains(hash, "/") {
		return "plan-" + branch + "-" + firstTen(hash)
	}
	if _, hash, ok := strings.Cut(revision, ":"); ok {
		return "plan-" + firstTen(hash)
	}
	return "plan-" + firstTen(revision)
}

func firstTen(s string) string { return s[:min(10, len(s))] }

// PlanHistory is the record of earlier plans that names the next one.
type PlanHistory struct {
	// Base and Sequence are the last base id and how many plans of different content it named.
	Base     string
	Sequence int
	// Applied is the id of the last applied plan. It is not reused: approvePlan may still name it.
	Applied string
	// Named is the id in approvePlan. A new plan does not get it: the approval was for another
	// plan.
	Named string
	// PendingID and PendingChanges identify the pending plan and its changes; may be empty.
	PendingID, PendingChanges string
}

// NamePlan names a new plan. One with the pending plan's changes keeps its id and approval, so a
// commit that approves does not invalidate itself. Later plans of a revision append -2, -3 and so
// on. An empty PendingID forces a new name.
func NamePlan(h PlanHistory, revision, changes string) (id string, next PlanHistory) {
	if h.PendingID != "" && changes != "" && h.PendingChanges == changes {
		h.Named = ""
		return h.PendingID, h
	}
	base := BasePlanID(revision)
	next = PlanHistory{Base: base, Applied: h.Applied, PendingChanges: changes}
	if h.Base == base {
		next.Sequence = h.Sequence
	}
	// A source that returns to an older revision starts at its base id again.
	for id == "" || id == h.Applied || id == h.Named {
		next.Sequence++
		id = numbered(base, next.Sequence)
	}
	next.PendingID = id
	return id, next
}

func numbered(base string, n int) string {
	if n == 1 {
		return base
	}
	return base + "-" + strconv.Itoa(n)
}
