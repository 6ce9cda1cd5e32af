// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Review is what reviews say about a head.
type Review struct {
	// Approvers are the members who approved it, without its author.
	Approvers []forge.User
	// Objections are those who ask for changes.
	Objections []string
}

// Counts reports whether somebody has approved, and nobody objects.
func (r Review) Counts() bool { return len(r.Approvers) > 0 && len(r.Objections) == 0 }

// Opinion is one person's opinion about a pull request.
type Opinion struct {
	forge.Review
	// Right is what the person may do in the repository.
	Right forge.Right
	// Saw says that all plans were shown before.
	Saw bool
}

// Judge finds out whose opinions count about a head. An approval of another commit is about other code, and one from before
// the plans were shown is about none of them. Where the forge does not tell the commit, what was shown decides.
func Judge(author forge.User, head string, opinions []Opinion) (r Review) {
	for _, o := range opinions {
		switch {
		case o.Right < forge.Write:
		case o.Verdict == forge.Rejected: // also of somebody whose name the author has taken
			r.Objections = append(r.Objections, o.Who.Name)
		case o.Verdict == forge.Approved && !o.Who.Is(author) && (o.Commit == "" || o.Commit == head) && o.Saw && !slices.ContainsFunc(r.Approvers, o.Who.Is):
			r.Approvers = append(r.Approvers, o.Who)
		}
	}
	return r
}

// names are those of people.
func names(who []forge.User) string {
	var out []string
	for _, u := range who {
		out = append(out, u.Name)
	}
	return strings.Join(out, ", ")
}

// Merged are the facts about a stack of a merged pull request.
type Merged struct {
	// Allowed says that reviews approve at all.
	Allowed bool
	Review  Review
	// Void says why approvals do not count; empty if they do.
	Void string
	// Shown is the digest of the changes that were shown; empty if there was no plan, or if not all of it was shown.
	Shown string
	// Commit is the merge commit.
	Commit string
	// Planned and Applied are the revisions that the stack has planned and applied last.
	Planned, Applied string
	// Pending is the id of the pending plan, Changes the digest of its changes. Approved says that it is
	// approved already.
	Pending, Changes string
	Approved         bool
	// Same says that the stack reads the same files in the merge commit as in the head that was planned: the digest of
	// the changes has no provisioners, and not what computes values that are unknown until the apply.
	Same bool
	// Failed says why the last apply failed; empty if it did not.
	Failed string
	// OtherInputs says that values of inputs are not those of the shown plan.
	OtherInputs bool
	// OwnersMissing are owners of whom nobody approved, if they must.
	OwnersMissing []string
	// Refusal says why a request to apply it before the merge would be refused now; empty if it would not.
	Refusal string
}

// Fate is what becomes of the plan of a merged pull request.
type Fate string

// The fates.
const (
	// Awaited: there is no plan of the merge commit yet.
	Awaited Fate = "awaited"
	// Approve: the review approves the pending plan.
	Approve Fate = "approve"
	// Differs: the plan is another one than the shown one, and waits.
	Differs Fate = "differs"
	// Unreviewed: it waits, as no review approves it.
	Unreviewed Fate = "unreviewed"
	// Applying: it is approved and not applied yet.
	Applying Fate = "applying"
	// Failed: it could not be planned, applied or checked.
	Failed Fate = "failed"
	// Done: the merge commit is applied, or changes nothing.
	Done Fate = "done"
)

// AfterMerge decides about the plan of a stack of a merged pull request.
func AfterMerge(m Merged) (Fate, string) {
	ofCommit := m.Commit != "" && strings.Contains(m.Planned, m.Commit)
	switch {
	case m.Failed != "":
		return Failed, m.Failed
	case m.Commit != "" && strings.Contains(m.Applied, m.Commit) && m.Pending == "":
		return Done, "applied"
	case ofCommit && m.Pending == "":
		return Done, "nothing to apply"
	case m.Pending == "" || !ofCommit:
		return Awaited, "waits for the plan of the merge commit: plans of other commits need an approval of their own"
	case m.Approved:
		return Applying, "the plan " + m.Pending + " is approved"
	case m.Shown == "":
		return Differs, fmt.Sprintf("not all changes were shown before the merge: the plan %s waits for an approval", m.Pending)
	case m.Changes != m.Shown:
		return Differs, fmt.Sprintf("the plan %s of the merge commit changes something else than what was shown: it waits for an approval", m.Pending)
	case !m.Same:
		return Differs, fmt.Sprintf("the plan %s changes what was shown, but the stack's files are not those that were planned, or are not known: it waits for an approval", m.Pending)
	case m.OtherInputs:
		return Differs, fmt.Sprintf("the plan %s changes what was shown, but values of inputs have changed since: it waits for an approval", m.Pending)
	case !m.Allowed:
		return Unreviewed, fmt.Sprintf("the plan %s changes what was shown, and waits for an approval", m.Pending)
	case len(m.Review.Objections) > 0:
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval: %s asked for changes", m.Pending, strings.Join(m.Review.Objections, ", "))
	case m.Void != "":
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval: approvals of the pull request do not count, because %s", m.Pending, m.Void)
	case !m.Review.Counts():
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval: no member except for the author approved the pull request after its plans were shown", m.Pending)
	case len(m.OwnersMissing) > 0:
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval of an owner: %s", m.Pending, strings.Join(m.OwnersMissing, "; "))
	}
	return Approve, fmt.Sprintf("the plan %s changes exactly what %s approved", m.Pending, names(m.Review.Approvers))
}
