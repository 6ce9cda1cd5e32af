// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

// State is how far a stack's plan is.
type State string

// The states.
const (
	Waiting State = "waiting"
	Running State = "planning"
	Planned State = "planned"
	Failed  State = "failed"
	// Held: there is no plan until somebody acts; the stack's Reason says who.
	Held    State = "held"
	Applied State = "applied"
	// Drifted: the infrastructure differs from what was applied; the stack's Reason says how.
	Drifted State = "drifted"
	// Applying: its plan is applied before the merge.
	Applying State = "applying"
)

// Fate is what becomes of the stack itself.
type Fate string

// The fates. Most stacks stay.
const (
	Stays   Fate = ""
	Created Fate = "created"
	Deleted Fate = "deleted"
)

// Counts are numbers of resources.
type Counts struct{ Add, Change, Replace, Destroy, Import, Move, Forget int }

// Zero reports whether nothing changes.
func (c Counts) Zero() bool { return c == Counts{} }

func (c Counts) plus(o Counts) Counts {
	return Counts{c.Add + o.Add, c.Change + o.Change, c.Replace + o.Replace, c.Destroy + o.Destroy, c.Import + o.Import, c.Move + o.Move, c.Forget + o.Forget}
}

// Verdict is a finding of a policy.
type Verdict struct {
	Policy, Message string
	// Refuses says that the plan must not be applied. Others warn.
	Refuses bool
}

// Problem is an error of a plan. Path and Line are in the repository, if they are known.
type Problem struct {
	Summary, Detail, Path string
	Line                  int
}

// Field is a changed field of the stack's manifest.
type Field struct{ Path, Before, After string }

// Stack is one stack of a report.
type Stack struct {
	// Name is namespace/name.
	Name   string
	State  State
	Fate   Fate
	Reason string
	Counts Counts
	// Outputs is the number of changed outputs.
	Outputs int
	// Changes is the text of the plan, in which equal changes of different stacks are equal.
	Changes  string
	Fields   []Field
	Verdicts []Verdict
	Problems []Problem
	// Link is the page of the plan.
	Link string
	// Owners are groups of owners of the changed files: one of each is asked.
	Owners [][]string
}

// Report is what is known of a pull request.
type Report struct {
	// Marker identifies the comment: letters, digits and :./-_ only.
	Marker string
	// Environment is added to the title, if it is set.
	Environment string
	// Commit is the head that was planned.
	Commit string
	Stacks []Stack
	// Consequences are the stacks behind them. OnlyBreaking shows what breaks, and only names the others.
	Consequences []Consequence
	OnlyBreaking bool
	// BehindBusy says that they are being planned. MoreBehind counts stacks behind that are not shown, BehindNote
	// says what is not known of them.
	BehindBusy bool
	MoreBehind int
	BehindNote string
	// Problems are those of the pull request, such as a conflict or manifests that cannot be built.
	Problems []Problem
	// Link is the page of the pull request.
	Link string
	// Approve says that people may approve the plans with a command, if the comment has all of them.
	Approve bool
	// Plans is the digest of the plans, which an approval names. Apply says that people may apply them with a command
	// before the merge.
	Plans string
	Apply bool
	// NoStatus are changed environments without a status of their own.
	NoStatus []string
	// Deaf says that nobody reads commands in comments.
	Deaf bool
}

// Style is what a forge's comments can do.
type Style struct {
	// Limit is the largest size in bytes.
	Limit int
	// Details says that <details> folds text, Hidden that HTML comments are not shown.
	Details, Hidden bool
}

// smallest is enough for the title, the marker, the counts and a link.
const smallest = 2048
