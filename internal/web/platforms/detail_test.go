// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

func TestPhasesSayWhatTheyWaitForAndLeadToTheirStacks(t *testing.T) {
	began, ended := metav1.NewTime(time.Unix(1_800_000_000, 0)), metav1.NewTime(time.Unix(1_800_000_075, 0))
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "acme"}}
	p.Status.Phases = []yubav1.PlatformPhaseStatus{
		{Name: "eu/network", Stack: "acme-eu-network", State: yubav1.PhaseReady, Run: "r1", StartedAt: &began, ReadyAt: &ended, Changes: "+2 ~0 -0"},
		{Name: "eu/machines", Stack: "acme-eu-machines", State: yubav1.PhaseAwaitingApproval, Plan: "plan-1", Run: "r2", StartedAt: &ended, Message: "the plan waits"},
		{Name: "eu/dns", State: yubav1.PhaseWaiting, Message: "waits for DNS records"},
		{Name: "eu/gitops", Stack: "acme-eu-gitops", State: yubav1.PhaseWaiting, WaitsFor: []string{"eu/machines", "eu/dns"}, Message: "dependency not ready"},
		{Name: "eu/vault", Stack: "acme-eu-vault", State: yubav1.PhaseAway, Message: "Handed over to the team", Run: "r3"},
	}
	sees := func(stack string) bool { return stack != "acme-eu-vault" }
	want := []phase{
		{Name: "eu/network", State: standing.Ready, Word: "ready", StackName: "acme-eu-network", Stack: "/stacks/prod/acme-eu-network", Run: "/stacks/prod/acme-eu-network/runs/r1", Started: &began, Took: "1m15s", Changes: "+2 ~0 -0"},
		{Name: "eu/machines", State: standing.Pending, Word: "awaiting approval", Says: "the plan waits", StackName: "acme-eu-machines", Stack: "/stacks/prod/acme-eu-machines", Plan: "/stacks/prod/acme-eu-machines/plan", Run: "/stacks/prod/acme-eu-machines/runs/r2", Started: &ended},
		{Name: "eu/dns", State: standing.Waiting, Word: "waiting", Says: "waits for DNS records"},
		{Name: "eu/gitops", State: standing.Waiting, Word: "waiting", Says: "Waits for eu/machines, eu/dns", StackName: "acme-eu-gitops", Stack: "/stacks/prod/acme-eu-gitops"},
		{Name: "eu/vault", State: standing.Suspended, Word: "away", Says: "Handed over to the team", StackName: "acme-eu-vault"},
	}
	if diff := cmp.Diff(want, detailOf(p, sees).Phases); diff != "" {
		t.Error(diff)
	}
}

func TestEachReasonAndStateHasAMark(t *testing.T) {
	for reason, want := range map[string]string{
		yubav1.ReasonPlatformReady: "ready ready", yubav1.ReasonPlatformApproval: "pending pending", yubav1.ReasonPlatformProgressing: "running running", yubav1.ReasonPlatformRemoving: "deleting removing",
		yubav1.ReasonPlatformAway: "suspended away", yubav1.ReasonPlatformDecommissioned: "suspended decommissioned", yubav1.ReasonPlatformSuspended: "suspended suspended", yubav1.ReasonPlatformMoved: "suspended moved",
		yubav1.ReasonPlatformPhaseFailed: "failed failed", yubav1.ReasonPlatformDomainTaken: "failed failed", yubav1.ReasonPlatformInvalid: "failed failed",
	} {
		p := &yubav1.Platform{}
		conditions.Set(p, infrav1.ConditionReady, metav1.ConditionFalse, reason, "x")
		if state, word := stateOf(p); string(state)+" "+word != want {
			t.Errorf("%s: %s %s", reason, state, word)
		}
	}
	for _, state := range []yubav1.PlatformPhaseState{yubav1.PhaseWaiting, yubav1.PhasePlanning, yubav1.PhaseAwaitingApproval, yubav1.PhaseApplying, yubav1.PhaseReady, yubav1.PhaseFailed, yubav1.PhaseSuspended, yubav1.PhaseRemoving, yubav1.PhaseAway} {
		if states[state] == "" {
			t.Errorf("%s has no mark", state)
		}
	}
	for _, state := range []yubav1.PlatformRecordState{yubav1.RecordPresent, yubav1.RecordMissing, yubav1.RecordUnknown} {
		if recordStates[state] == "" {
			t.Errorf("%s has no mark", state)
		}
	}
}
