// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const clock = "timestamp() at main.tf:3"

// reading: the program reads external data; drift checks are daily, the interval ten minutes.
func (g *given) reading(what string) *given {
	g.facts.ReadsWorld, g.facts.Stack.WorldInterval, g.facts.Stack.Interval = what, everyTenMinutes, 24*time.Hour
	return g
}

// Programs that read external data are not proven by their configuration.
var readingScenarios = scenarios{
	"a stack that reads external data is planned on the object's interval": {
		settled().reading(clock).checkedForDrift(everyTenMinutes), plans(ReasonDriftDue, "Planning again because the program reads external data: "+clock).forDrift(),
	},
	"a stack that reads external data is not planned a moment earlier": {
		settled().reading(clock).checkedForDrift(everyTenMinutes - 1), rests(noon.Add(1)),
	},
	"a stack that reads external data is applied in mode auto": {
		settled().auto().reading(clock).checkedForDrift(time.Hour), plansAndApplies(ReasonDriftDue, "Planning again because the program reads external data: "+clock).forDrift(),
	},
	"drift detection is the reason when both are due": {
		settled().reading(clock).checkedForDrift(24 * time.Hour), plans(ReasonDriftDue, comparing).forDrift(),
	},
	"a stack that reads no external data waits for drift detection": {
		settled().reading("").checkedForDrift(time.Hour), rests(noon.Add(23 * time.Hour)),
	},
	"without drift detection nothing is planned on an interval, whatever it reads": {
		settled().ignoringDrift().reading(clock).checkedForDrift(48 * time.Hour), rests(time.Time{}),
	},
	"a shorter drift detection interval has precedence": {
		settled().reading(clock).with(func(f *Facts) { f.Stack.Interval = time.Minute }).checkedForDrift(30 * time.Second), rests(noon.Add(30 * time.Second)),
	},
	"a pending plan of a stack that reads external data is made again on the object's interval": {
		awaiting("plan-main-1").reading(clock).checkedForDrift(time.Hour), plans(ReasonDriftDue, "Planning again because the program reads external data: "+clock),
	},
	"a destroyed stack is not planned on the interval": {
		settled().toDestroy().reading(clock).checkedForDrift(time.Hour), rests(time.Time{}),
	},
}

// readingLaw: with drift detection, such a stack is planned on the object's interval.
func readingLaw(f Facts, d Decision) string {
	atRest := d.Verb == VerbRest && d.Reason == ReasonUpToDate && f.Stack.DetectDrift && !f.Stack.Destroy && f.Stack.Interval > 0
	if atRest && f.ReadsWorld != "" && f.Stack.WorldInterval > 0 && d.NextCheck.After(f.LastDriftCheck.Add(f.Stack.WorldInterval)) {
		return "external data is read too rarely"
	}
	return ""
}
