// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	badArchive = "fetch the artifact of GitRepository team/live: it is damaged"
	noInputs   = "Secret vpc-credentials is missing"
)

// refused sets the attempts in a row that ended before a run, and when the last did.
func (g *given) refused(failures int, ago time.Duration) *given {
	g.facts.Refused = Refusal{At: noon.Add(-ago), Failures: failures, Generation: 1, Revision: newRevision}
	return g
}

// badArchive: the artifact cannot be used.
func (g *given) badArchive() *given {
	g.facts.Source = Source{Revision: newRevision, Problem: badArchive, Lasting: true}
	return g.config("")
}

func (g *given) growingTo(longest time.Duration) *given {
	g.facts.Stack.MaxRetryInterval = longest
	return g
}

// counted sets the failures in a row; zero if this is not one more.
func (d Decision) counted(failures int, next time.Time) Decision {
	d.Failures, d.NextCheck = failures, next
	return d
}

func (d Decision) spent() Decision {
	d.Spent, d.NextCheck = true, time.Time{}
	return d
}

var (
	archiveFails = fails(ReasonArtifactFailed, badArchive)
	inputsFail   = fails("InputsMissing", noInputs)
)

// Attempts that end before a run.
var refusalScenarios = scenarios{
	"the first attempt on a bad archive counts": {
		fresh().allowing(3).badArchive(), archiveFails.counted(1, noon.Add(afterFifteen)),
	},
	"the second attempt waits for its interval": {
		fresh().allowing(3).badArchive().refused(1, time.Second), archiveFails.counted(0, noon.Add(14*time.Second)),
	},
	"the second attempt counts, too": {
		fresh().allowing(3).badArchive().refused(1, afterFifteen), archiveFails.counted(2, noon.Add(afterFifteen)),
	},
	"the last attempt counts": {
		fresh().allowing(3).badArchive().refused(2, afterFifteen), archiveFails.counted(3, time.Time{}).spent(),
	},
	"nothing is attempted after the last one": {
		fresh().allowing(3).badArchive().refused(3, time.Hour), archiveFails.counted(0, time.Time{}).spent(),
	},
	"with one attempt the first failure stalls the stack": {
		fresh().allowing(1).inputsGone(), inputsFail.counted(1, time.Time{}).spent(),
	},
	"missing inputs count as an attempt": {
		settled().allowing(2).inputsGone().refused(1, time.Minute), inputsFail.counted(2, time.Time{}).spent(),
	},
	"a new generation of the object resets the attempts": {
		fresh().allowing(3).badArchive().refused(3, time.Second).with(func(f *Facts) { f.Stack.Generation = 2 }),
		archiveFails.counted(1, noon.Add(afterFifteen)),
	},
	"a new revision of the source resets the attempts": {
		fresh().allowing(3).badArchive().refused(3, time.Second).with(func(f *Facts) { f.Source.Revision = oldRevision }),
		archiveFails.counted(1, noon.Add(afterFifteen)),
	},
	"a reconcile request resets the attempts": {
		fresh().allowing(3).badArchive().refused(3, time.Second).requested(), archiveFails.counted(1, noon.Add(afterFifteen)),
	},
	"the wait grows with each attempt": {
		fresh().growingTo(time.Hour).inputsGone().refused(2, time.Second), inputsFail.counted(0, noon.Add(59*time.Second)),
	},
	"the wait grows up to its maximum, which may be below the interval": {
		fresh().growingTo(4*time.Second).inputsGone().refused(2, 4*time.Second), inputsFail.counted(3, noon.Add(4*time.Second)),
	},
	"a growing wait does not cause retries of a failure that needs a change": {
		fresh().growingTo(time.Hour).badArchive(), archiveFails.counted(0, time.Time{}),
	},
	"without a limit attempts are not counted": {
		fresh().inputsGone().refused(2, time.Second), inputsFail,
	},
	"a source without an artifact is waited for, not attempted": {
		fresh().allowing(1).sourceGone().with(func(f *Facts) { f.Source.Revision = "" }), fails(ReasonArtifactFailed, "could not get Source object: it is gone"),
	},
	"a source that may not be read is not attempted": {
		fresh().allowing(3).inputsGone().with(func(f *Facts) { f.Inputs.Reason = ReasonAccessDenied }), fails(ReasonAccessDenied, noInputs),
	},
}

// Without usable source or inputs, a stack uses up its attempts; a change or a request resets them.
func TestRefusedAttemptsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := undisturbed(drawFacts(t))
		f.Config, f.Refused = "", drawRefusal(t)
		if rapid.Bool().Draw(t, "the archive is bad") {
			f.Source.Ready, f.Source.Problem, f.Source.Lasting = false, badArchive, rapid.Bool().Draw(t, "lasting")
		} else {
			f.Inputs = Inputs{Problem: noInputs, Reason: "InputsMissing"}
		}
		f.Stack.MaxFailures = rapid.IntRange(1, 5).Draw(t, "most failures")
		for _, change := range []func(){
			func() { f.Refused = Refusal{} },
			func() { f.Stack.Generation++ },
			func() { f.Source.Revision = "main@sha1:ffffffffffff" },
			func() { f.Stack.Requested = "third" },
		} {
			change()
			if attempts := refusals(&f); attempts != f.Stack.MaxFailures {
				t.Fatalf("%d attempts, want %d", attempts, f.Stack.MaxFailures)
			}
		}
	})
}

// refusals carries out decisions until there are no more attempts, and counts these.
func refusals(f *Facts) (attempts int) {
	for {
		d := Decide(*f)
		f.Stack.Handled = f.Stack.Requested
		if d.Failures > 0 {
			attempts++
			f.Refused = Refusal{At: f.Now, Failures: d.Failures, Generation: f.Stack.Generation, Revision: f.Source.Revision}
		}
		if d.NextCheck.IsZero() {
			return attempts
		}
		f.Now = d.NextCheck
	}
}
