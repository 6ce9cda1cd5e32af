// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Request are the facts about a request to apply a pull request before its merge.
type Request struct {
	// Enabled says that the planner allows it. Approved requires a review, and Owners one of owners.
	Enabled, Approved, Owners bool
	Now                       forge.PullRequest
	// Head is the commit that the plans are of, Found whether its stacks are known, Busy how many plans
	// have not ended.
	Head  string
	Found bool
	Busy  int
	// Commit is the commit that the request names; empty for none.
	Commit string
	Review Review
	// OwnersMissing are owners of whom nobody approved.
	OwnersMissing []string
	// Stacks are the wanted ones.
	Stacks []Candidate
}

// Candidate is a stack of a request.
type Candidate struct {
	Name string
	// Manifest says that its manifest changes, too. Planned says that it has a plan, and Shown that the
	// comment has all of it. Changes says that the plan changes something.
	Manifest, Planned, Shown, Changes bool
	// Refused says that policies refuse it.
	Refused bool
}

// Applies reports whether the stack has something to apply before the merge. The manifest that a pull
// request changes is in the API only after it.
func (c Candidate) Applies() bool { return !c.Manifest && (!c.Planned || c.Changes) }

// Refusal says why a request is refused; empty if it is not. The first rule that fits counts.
func Refusal(r Request) string {
	var failed, hidden, refused []string
	applies := false
	for _, c := range r.Stacks {
		applies = applies || c.Applies()
		switch {
		case !c.Applies():
		case !c.Planned:
			failed = append(failed, c.Name)
		case c.Refused:
			refused = append(refused, c.Name)
		case !c.Shown:
			hidden = append(hidden, c.Name)
		}
	}
	switch {
	case !r.Enabled:
		return "Plans are applied after the merge here: `spec.apply.when` of the PullRequestPlanner is not `BeforeMerge`."
	case r.Now.State != forge.Open:
		return "The pull request is not open."
	case r.Now.Fork:
		return "Pull requests from forks are applied after the merge only."
	case r.Now.Conflict:
		return "The pull request conflicts with its base. Merge the base into the branch first."
	case r.Head == "" || r.Head != r.Now.Head.Commit || !r.Found || r.Busy > 0:
		return "The plans have not ended. Look at them first, and repeat the command."
	case r.Commit == "":
		return "Name the commit whose plans you apply: `/yuba apply --commit COMMIT`. The comment with the plans has the command."
	case !strings.HasPrefix(r.Commit, r.Now.Head.Commit):
		return "The plans are of another commit, or the command does not have all its digits. Look at them, and repeat the command."
	case !applies:
		return "There is nothing to apply before the merge."
	case len(failed) > 0:
		return "There is no plan of " + quoted(failed) + ". Correct that first, or name the other stacks."
	case len(refused) > 0:
		return "Policies refuse the plan of " + quoted(refused) + "."
	case len(hidden) > 0:
		return "The comment does not have the whole plan of " + quoted(hidden) + ", so that nobody can have reviewed it."
	case len(r.Review.Objections) > 0: // whatever is required, an objection counts
		return fmt.Sprintf("%s asked for changes.", quoted(r.Review.Objections))
	case r.Approved && !r.Review.Counts():
		return "No member except for the author has approved these plans since they were shown: review the pull request, or use `/yuba approve`."
	case r.Owners && len(r.OwnersMissing) > 0:
		return "An owner must approve: " + quoted(r.OwnersMissing) + "."
	}
	return ""
}

// quoted are words of others that start no Markdown and mention nobody.
func quoted(words []string) string {
	var out []string
	for _, w := range words[:min(len(words), 10)] {
		out = append(out, "`"+strings.Map(func(c rune) rune {
			if c < ' ' || c == '`' {
				return '?'
			}
			return c
		}, w)+"`")
	}
	return strings.Join(out, ", ")
}

// BeforeMerge decides about the plan of a stack that is held for an open pull request, of its Commit.
func BeforeMerge(m Merged) (Fate, string) {
	ofCommit := m.Commit != "" && strings.Contains(m.Planned, m.Commit)
	switch {
	case ofCommit && m.Pending == "" && m.Failed != "":
		return Awaited, m.Failed
	case m.Commit != "" && strings.Contains(m.Applied, m.Commit) && m.Pending == "":
		return Done, "applied"
	case ofCommit && m.Pending == "":
		return Done, "nothing to apply"
	case m.Pending == "" || !ofCommit:
		return Awaited, "it is planned again, with the lock of its state"
	case m.Approved:
		return Applying, "the plan " + m.Pending + " is approved"
	case m.Shown == "" || m.Changes != m.Shown:
		return Differs, fmt.Sprintf("the plan %s changes something else than what was shown: it waits for an approval, or for a new command after \"/yuba replan\"", m.Pending)
	case m.Refusal != "":
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval. %s", m.Pending, m.Refusal)
	case !m.Same:
		return Differs, fmt.Sprintf("the plan %s is not of the files that were planned: it waits for an approval", m.Pending)
	case m.OtherInputs:
		return Differs, fmt.Sprintf("the plan %s changes what was shown, but values of inputs have changed since: it waits for an approval", m.Pending)
	case len(m.Review.Approvers) == 0:
		return Unreviewed, fmt.Sprintf("the plan %s waits for an approval", m.Pending)
	}
	return Approve, fmt.Sprintf("the plan %s changes exactly what %s approved", m.Pending, names(m.Review.Approvers))
}

// MissingOwners are the groups of owners of whom nobody is among the approvers. One of each group must approve. Only
// "@name" can be resolved.
func MissingOwners(groups [][]string, approvers []forge.User) (missing []string) {
	for _, group := range groups {
		known := slices.ContainsFunc(group, func(owner string) bool {
			name, isUser := strings.CutPrefix(owner, "@")
			return isUser && slices.ContainsFunc(approvers, func(u forge.User) bool { return strings.EqualFold(u.Name, name) })
		})
		if text := strings.Join(group, " or "); !known && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

// Tally are the facts for the status that says whether a pull request is applied.
type Tally struct {
	// Found says that the stacks of the present head are known and planned; Problem what is wrong otherwise.
	Found   bool
	Problem string
	// Applied, Open and Later are numbers of stacks: applied, still to apply, and applied after the merge. Left are stacks
	// that run an earlier commit of the pull request, which does not change them any more.
	Applied, Open, Later, Left int
	// Barred are stacks whose code is not planned, and so not applied, as it can start programs.
	Barred int
	// Ignored says why the rules of the planner leave the pull request out; empty if they do not.
	Ignored string
}

// Check is the result of the status, and its description.
func Check(t Tally) (forge.Result, string) {
	switch {
	case t.Ignored != "": // a required check must not block it for ever
		return forge.Success, "Not applied here: " + t.Ignored
	case t.Problem != "":
		return forge.Pending, t.Problem
	case !t.Found:
		return forge.Pending, "Waits for the plans"
	case t.Left > 0:
		return forge.Pending, fmt.Sprintf("%d stacks run an earlier commit: /yuba unlock", t.Left)
	case t.Barred > 0: // only another commit, or another planner, changes that
		return forge.Failure, fmt.Sprintf("%d stacks cannot be applied before the merge: spec.programs refuses their code", t.Barred)
	case t.Open > 0:
		return forge.Pending, fmt.Sprintf("%d of %d stacks applied", t.Applied, t.Applied+t.Open)
	case t.Applied > 0 && t.Later > 0:
		return forge.Success, fmt.Sprintf("%d stacks applied, %d with the merge", t.Applied, t.Later)
	case t.Applied > 0:
		return forge.Success, fmt.Sprintf("%d stacks applied", t.Applied)
	case t.Later > 0:
		return forge.Success, fmt.Sprintf("%d stacks are applied with the merge", t.Later)
	}
	return forge.Success, "Nothing to apply"
}
