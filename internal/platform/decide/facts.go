// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Facts are what decides.
type Facts struct {
	// Held says why nothing may be done here: the platform is at another home, or not yet complete at this one.
	Held                  string
	Now                   time.Time
	Suspend, Decommission bool
	// Problems of the blueprint, each a sentence.
	Problems []string
	// Holder says which other platform has the same DNS name, by what, and what to do; empty for none.
	Holder string
	// Missing are the Secrets that the blueprint names and that do not exist.
	Missing []string
	// Steps are what the blueprint wants, each after those that it needs.
	Steps []Step
	// Sights are the stacks that exist: ours, and those that have the name of a step.
	Sights []Sight
	// Before are the phases of the last status.
	Before []yubav1.PlatformPhaseStatus
}

// Step is a stack that the blueprint wants.
type Step struct {
	ID, Region, Component, Stack string
	Phase                        yubav1.PlatformPhaseName
	Needs                        []string
	// Lacks says what must be known before the stack can be written; empty if nothing is missing.
	Lacks string
	// Manual is set for a phase without a stack, which people do.
	Manual *Manual
}

// Sight is what a stack says about itself.
type Sight struct {
	Stack, Region, Component string
	Phase                    yubav1.PlatformPhaseName
	Ours                     bool
	Deleting                 bool
	Suspended                bool
	// Away says who has the stack, if it was moved or handed over, or is being so; empty if it is the platform's.
	Away string
	// Seen is true if the status is about the current generation.
	Seen bool
	// Ready is the condition Ready: True, False, Unknown or empty.
	Ready, Reason, Message string
	// Waits is true if it waits for another stack or for an input.
	Waits bool
	// Stalled is true if only a change or a request makes it try again.
	Stalled bool
	// Operation is that of the current run: plan, apply, destroy …; empty without one.
	Operation string
	// Run is the current run, else the last one.
	Run string
	// Pending is the plan that waits for approval, Changes its summary.
	Pending, Changes string
	Failures         int64
	// Count is the number of its resources, and Resources are the first of them.
	Count     int64
	Resources []string
}

// Decision is what to do, and what the status says.
type Decision struct {
	// Write are the stacks to write; Remove are ours to remove.
	Write, Remove []string
	Phases        []yubav1.PlatformPhaseStatus
	Remaining     []yubav1.PlatformRemains
	Progress      string
	// Ready, Reason and Message are the condition Ready.
	Ready           bool
	Reason, Message string
}
