// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// rules give the condition Ready; the first one with a reason wins.
var rules = []func(*world, *Decision) (reason, message string){
	// Another home makes this platform; whatever is wrong here is of no consequence.
	func(w *world, _ *Decision) (string, string) {
		if w.Held == "" {
			return "", ""
		}
		return yubav1.ReasonPlatformMoved, w.Held
	},
	// A blueprint that cannot be made must change first, whatever else there is.
	func(w *world, _ *Decision) (string, string) {
		if len(w.Problems) == 0 || w.Decommission {
			return "", ""
		}
		return yubav1.ReasonPlatformInvalid, "The blueprint cannot be made: " + strings.Join(w.Problems, "; ")
	},
	// Two platforms with one name would fight for the same records and machines. To remove its own stacks, a platform needs
	// no name.
	func(w *world, _ *Decision) (string, string) {
		if w.Holder == "" || w.Decommission {
			return "", ""
		}
		return yubav1.ReasonPlatformDomainTaken, w.Holder
	},
	// A stack of somebody else is not touched.
	func(w *world, _ *Decision) (string, string) {
		for _, s := range w.Steps {
			if sight, there := w.sights[s.Stack]; there && !sight.Ours {
				return yubav1.ReasonPlatformNameTaken, fmt.Sprintf("The stack %s exists and does not belong to this platform. Delete it, or label it %s to have the platform adopt it", s.Stack, yubav1.LabelPlatform)
			}
		}
		return "", ""
	},
	// Before a person has resumed it, nothing else can be done.
	func(w *world, _ *Decision) (string, string) {
		if !w.Suspend {
			return "", ""
		}
		return yubav1.ReasonPlatformSuspended, "spec.suspend is true: nothing is made or removed"
	},
	// Everything that the blueprint needs must be there before anything is made.
	func(w *world, _ *Decision) (string, string) {
		if len(w.Missing) == 0 || w.Decommission {
			return "", ""
		}
		return yubav1.ReasonPlatformCredentials, fmt.Sprintf("The Secret %s does not exist. Create it with the provider's variables: yuba kubectl create secret generic %s --from-env-file=FILE", strings.Join(w.Missing, ", "), w.Missing[0])
	},
	// What failed is what a person looks at first.
	func(w *world, d *Decision) (string, string) {
		for _, s := range w.Sights {
			if s.Ours && s.Away == "" && s.Deleting && s.Ready == "False" && s.Failures > 0 && s.Operation == "" {
				return yubav1.ReasonPlatformPhaseFailed, fmt.Sprintf("The removal of the stack %s failed: %s", s.Stack, s.Message)
			}
		}
		failed := inState(d, yubav1.PhaseFailed)
		if len(failed) == 0 {
			return "", ""
		}
		return yubav1.ReasonPlatformPhaseFailed, fmt.Sprintf("%s ready. %s failed: %s", d.Progress, failed[0].Name, failed[0].Message)
	},
	func(_ *world, d *Decision) (string, string) {
		waiting := inState(d, yubav1.PhaseAwaitingApproval)
		if len(waiting) == 0 {
			return "", ""
		}
		p := waiting[0]
		return yubav1.ReasonPlatformApproval, fmt.Sprintf("%s ready. The plan of %s waits for approval: yuba plan %s, then yuba approve %s", d.Progress, p.Name, p.Stack, p.Stack)
	},
	func(_ *world, d *Decision) (string, string) {
		if len(d.Remaining) == 0 {
			return "", ""
		}
		names := make([]string, 0, len(d.Remaining))
		for _, r := range d.Remaining {
			names = append(names, r.Phase)
		}
		return yubav1.ReasonPlatformRemoving, "Removing " + strings.Join(names, ", ")
	},
	func(w *world, d *Decision) (string, string) {
		if !w.Decommission {
			return "", ""
		}
		if away := inState(d, yubav1.PhaseAway); len(away) > 0 {
			var stacks []string
			for _, p := range away {
				stacks = append(stacks, p.Stack)
			}
			return yubav1.ReasonPlatformDecommissioned, "Nothing of the platform is left here, but others have these stacks and their resources, which were not removed: " + strings.Join(stacks, ", ")
		}
		return yubav1.ReasonPlatformDecommissioned, "Nothing of the platform is left. Delete the object, or set spec.decommission to false to make it again"
	},
	func(_ *world, d *Decision) (string, string) {
		if open := len(d.Phases) - len(inState(d, yubav1.PhaseReady)); open == 0 {
			return yubav1.ReasonPlatformReady, fmt.Sprintf("All %d phases are ready", len(d.Phases))
		}
		return "", ""
	},
	func(_ *world, d *Decision) (string, string) {
		away := inState(d, yubav1.PhaseAway)
		if len(away) == 0 || len(away)+len(inState(d, yubav1.PhaseReady)) < len(d.Phases) {
			return "", ""
		}
		return yubav1.ReasonPlatformAway, fmt.Sprintf("%s ready. The platform leaves %s alone: %s", d.Progress, away[0].Name, away[0].Message)
	},
	func(_ *world, d *Decision) (string, string) {
		if suspended := inState(d, yubav1.PhaseSuspended); len(suspended) > 0 {
			return yubav1.ReasonPlatformSuspended, fmt.Sprintf("%s ready. %s is suspended: yuba resume %s", d.Progress, suspended[0].Name, suspended[0].Stack)
		}
		for _, state := range []yubav1.PlatformPhaseState{yubav1.PhaseApplying, yubav1.PhasePlanning} {
			if busy := inState(d, state); len(busy) > 0 {
				return yubav1.ReasonPlatformProgressing, fmt.Sprintf("%s ready. %s: %s", d.Progress, busy[0].Name, strings.ToLower(string(state)))
			}
		}
		for _, p := range d.Phases {
			if p.State != yubav1.PhaseReady && p.State != yubav1.PhaseAway {
				return yubav1.ReasonPlatformProgressing, fmt.Sprintf("%s ready. %s %s", d.Progress, p.Name, p.Message)
			}
		}
		return yubav1.ReasonPlatformProgressing, d.Progress + " ready"
	},
}

func inState(d *Decision, state yubav1.PlatformPhaseState) (list []yubav1.PlatformPhaseStatus) {
	for _, p := range d.Phases {
		if p.State == state {
			list = append(list, p)
		}
	}
	return list
}

// Refused reports whether nothing is made of the platform, whatever its stacks say, until somebody changes something.
func Refused(f Facts) bool {
	foreign := func(s Sight) bool { return !s.Ours }
	return f.Held != "" || len(f.Problems) > 0 || f.Holder != "" || len(f.Missing) > 0 || slices.ContainsFunc(f.Sights, foreign)
}
