// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scenarios map a sentence to facts and the wanted decision.
type scenarios map[string]struct {
	given *given
	want  Decision
}

func TestDecide(t *testing.T) {
	for group, cases := range map[string]scenarios{
		"planning":            planningScenarios,
		"approval":            approvalScenarios,
		"contracts":           contractScenarios,
		"drift":               driftScenarios,
		"reading the world":   readingScenarios,
		"failure":             failureScenarios,
		"source and inputs":   sourceScenarios,
		"suspension and lock": standstillScenarios,
		"run in progress":     runInHandScenarios,
		"deletion":            deletionScenarios,
		"deletion's review":   deletionReviewScenarios,
		"failed deletion":     failedDeletionScenarios,
		"dependencies":        dependencyScenarios,
		"attempts":            attemptScenarios,
		"refused attempts":    refusalScenarios,
		"unlocking":           unlockScenarios,
		"manual work":         heldScenarios,
		"replan":              replanScenarios,
		"circuit breakers":    circuitScenarios,
		"takeover":            takeoverScenarios,
		"policy":              policyScenarios,
	} {
		t.Run(group, func(t *testing.T) {
			for sentence, c := range cases {
				t.Run(sentence, func(t *testing.T) {
					if diff := cmp.Diff(c.want, Decide(c.given.facts)); diff != "" {
						t.Errorf("decision (-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}

func TestDecisionString(t *testing.T) {
	for sentence, c := range map[string]struct {
		decision Decision
		want     string
	}{
		"a verb alone": {Decision{Verb: VerbRest}, "rest"},
		"everything": {
			Decision{Verb: VerbWait, Subject: "lock-1", Reason: ReasonLockHeld, Message: "Locked",
				NextCheck: noon.In(time.FixedZone("CET", 3600))},
			"wait lock-1 (LockHeld): Locked; next check 2026-03-01T12:00:00Z",
		},
		"a detail": {
			Decision{Verb: VerbWait, Reason: ReasonDependencyNotReady, Message: "Waiting", Detail: "for vpc"},
			"wait (DependencyNotReady): Waiting (for vpc)",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.decision.String()); diff != "" {
				t.Errorf("string (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartsRun(t *testing.T) {
	starts := map[Verb]bool{
		VerbPlan: true, VerbPlanAndApply: true, VerbApply: true,
		VerbRest: false, VerbAwaitRun: false, VerbAwaitApproval: false, VerbWait: false, VerbFail: false,
		VerbCancel: false, VerbRelease: false, VerbUnlock: false,
	}
	for verb, want := range starts {
		if got := verb.StartsRun(); got != want {
			t.Errorf("%s.StartsRun() = %v, want %v", verb, got, want)
		}
	}
}
