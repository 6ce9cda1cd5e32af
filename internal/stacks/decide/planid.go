// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strconv"
	"strings"
)

// BasePlanID is the id that tofu-controller gives the plan of a source revision: `plan-<branch>-<hash>` for
// `branch@algorithm:hash` (and the old form `branch/hash`), `plan-<revision>` otherwise, hash and bare revision cut to
// ten characters. Where tofu-controller counts the algorithm of a bare `algorithm:hash` among the ten, which leaves three
// digits of a sha256, the hash alone is counted here.
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

// PlanHistory is what is remembered about a stack's plans to name the next one.
type PlanHistory struct {
	// Base and Sequence are the base id last used and how many plans of other content it has named.
	Base     string
	Sequence int
	// Applied is the id of the plan that was applied last. It is not given again, for approvePlan may still name it.
	Applied string
	// Named is the id that approvePlan names at the moment. A new plan does not get it: nobody has seen that plan yet, so
	// the approval was meant for another one, whatever became of that.
	Named string
	// PendingID and PendingChanges are the plan that waits and the digest of its changes; empty when none waits.
	PendingID, PendingChanges string
}

// NamePlan names a new plan. A plan that means the same as the pending one keeps its id, and with it its approval, so
// that the commit that approves does not void itself. The first plan of a revision has its base id, each later one
// appends -2, -3 and so on. To name another plan than the pending one whatever it says, leave PendingID empty.
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
	// A source that returns to an older revision starts again at its base id.
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
