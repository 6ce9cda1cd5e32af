// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Verb is what to do about a pull request.
type Verb string

// The verbs.
const (
	// Leave: it is not for this planner. Plans of it end, and nothing is shown.
	Leave Verb = "leave"
	// End: it was closed. Plans of it end.
	End Verb = "end"
	// Merge: it was merged.
	Merge Verb = "merge"
	// Hold: somebody must act first. The message says who, and is shown.
	Hold Verb = "hold"
	// Discover: find the stacks that the head changes. Plans of an earlier head end.
	Discover Verb = "discover"
	// Start: begin some plans.
	Start Verb = "start"
	// Wait: plans are at work, or there is no room for more.
	Wait Verb = "wait"
	// Rest: all is planned.
	Rest Verb = "rest"
)

// Rules are those of the planner.
type Rules struct {
	// Branches are patterns of the branches to merge into. Default is the one if there are none; empty for any.
	Branches []string
	Default  string
	Labels   []string
	// NoForks and NoDrafts leave those out.
	NoForks, NoDrafts bool
}

// Pull are the facts about a pull request.
type Pull struct {
	Rules Rules
	Now   forge.PullRequest
	// Head is the commit that the known stacks are of; empty for none. Found is true once they are known.
	Head  string
	Found bool
	// Allowed is the head of a fork that a member has allowed.
	Allowed string
	// Waiting and Running are numbers of plans, Room is how many more may begin.
	Waiting, Running, Room int
}

// Decision is what to do, and why.
type Decision struct {
	Verb Verb
	// Reason is for people.
	Reason string
	// Begin is how many plans to start.
	Begin int
}

// Decide decides about a pull request. The first rule that fits counts.
func Decide(p Pull) Decision {
	now := p.Now
	switch {
	case now.State == forge.Merged && !p.Rules.fits(now.Base.Branch):
		return Decision{Verb: End, Reason: "it was merged into the branch " + now.Base.Branch}
	case now.State == forge.Merged:
		return Decision{Verb: Merge, Reason: "it was merged"}
	case now.State == forge.Closed:
		return Decision{Verb: End, Reason: "it was closed"}
	case !p.Rules.fits(now.Base.Branch):
		return Decision{Verb: Leave, Reason: "it is for the branch " + now.Base.Branch}
	case p.Rules.NoDrafts && now.Draft:
		return Decision{Verb: Leave, Reason: "it is a draft"}
	case p.Rules.missing(now.Labels) != "":
		return Decision{Verb: Leave, Reason: "it does not have the label " + p.Rules.missing(now.Labels)}
	case now.Fork && p.Rules.NoForks:
		return Decision{Verb: Leave, Reason: "it is from a fork"}
	case now.Head.Commit == "":
		return Decision{Verb: Hold, Reason: "its branch does not exist any more"}
	// What a fork's author can push must not reach credentials by itself.
	case now.Fork && p.Allowed != now.Head.Commit:
		return Decision{Verb: Hold, Reason: fmt.Sprintf("it is from a fork: somebody who may write must look at it and say \"/yuba plan --commit %s\"", now.Head.Commit)}
	case now.Conflict:
		return Decision{Verb: Hold, Reason: "it conflicts with its base: a merge needs another commit"}
	case p.Head != now.Head.Commit || !p.Found:
		return Decision{Verb: Discover, Reason: "commit " + short(now.Head.Commit) + " is new"}
	case p.Waiting > 0 && p.Room > 0:
		return Decision{Verb: Start, Begin: min(p.Waiting, p.Room), Reason: fmt.Sprintf("%d plans wait", p.Waiting)}
	case p.Waiting+p.Running > 0:
		return Decision{Verb: Wait, Reason: fmt.Sprintf("%d plans are at work, %d wait", p.Running, p.Waiting)}
	}
	return Decision{Verb: Rest, Reason: "commit " + short(p.Head) + " is planned"}
}

func (r Rules) fits(branch string) bool {
	if len(r.Branches) == 0 {
		return r.Default == "" || branch == r.Default
	}
	return slices.ContainsFunc(r.Branches, func(pattern string) bool {
		fits, err := path.Match(pattern, branch)
		return err == nil && fits || pattern == branch
	})
}

// missing is the first label that there should be.
func (r Rules) missing(labels []string) string {
	for _, wanted := range r.Labels {
		if !slices.ContainsFunc(labels, func(has string) bool { return strings.EqualFold(has, wanted) }) {
			return wanted
		}
	}
	return ""
}

func short(commit string) string { return commit[:min(len(commit), 12)] }
