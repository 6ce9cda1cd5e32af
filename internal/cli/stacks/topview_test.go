// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// The fleet of top takes two lines when one is too short.
func TestTheCountsOfTopFit(t *testing.T) {
	v := topView{}
	for s := range standings {
		v.stacks[s] = 1000
	}
	for _, width := range []int{80, 100, 120} {
		for _, line := range flow("Stacks ", v.counts(), width) {
			if line.length() > width {
				t.Errorf("%d characters do not fit into %d: %s", line.length(), width, line.text(false))
			}
		}
	}
	if lines := flow("Stacks ", v.counts(), 40); len(lines) != 1 {
		t.Errorf("%d lines on a screen that has none to spare", len(lines))
	}
}

func TestHowAStackStands(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			t.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason}}
		}
	}
	paused := func(t *infrav1.Terraform) {
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPaused, Status: metav1.ConditionTrue})
	}
	for sentence, c := range map[string]struct {
		change []func(*infrav1.Terraform)
		want   standing
	}{
		"nobody has looked at it":         {nil, standsOther},
		"it is ready":                     {[]func(*infrav1.Terraform){ready(metav1.ConditionTrue, "")}, standsReady},
		"it failed":                       {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed)}, standsFailing},
		"it waits for another":            {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, infrav1.ReasonDependencyNotReady)}, standsForDependencies},
		"it is paused by an outage":       {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed), paused}, standsPaused},
		"it has drifted":                  {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, infrav1.ReasonDriftDetected)}, standsDrifted},
		"it failed and is tried again":    {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, ""), func(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{} }}, standsRunning},
		"its plan waits":                  {[]func(*infrav1.Terraform){ready(metav1.ConditionUnknown, ""), func(t *infrav1.Terraform) { t.Status.Plan.Pending = "plan-main-1" }}, standsForApproval},
		"it is suspended, whatever it is": {[]func(*infrav1.Terraform){ready(metav1.ConditionFalse, ""), func(t *infrav1.Terraform) { t.Spec.Suspend = true }}, standsSuspended},
	} {
		t.Run(sentence, func(t *testing.T) {
			var stack infrav1.Terraform
			for _, change := range c.change {
				change(&stack)
			}
			if got := standingOf(&stack); got != c.want {
				t.Errorf("got %s, want %s", standingNames[got], standingNames[c.want])
			}
		})
	}
}

// The words of -o json are published: their names in the code are not.
func TestTheWordsForHowStacksStand(t *testing.T) {
	c := census{standsReady: 1, standsRunning: 2, standsForApproval: 3, standsForDependencies: 4, standsFailing: 5, standsDrifted: 6, standsPaused: 7, standsSuspended: 8, standsOther: 9}
	want := map[string]int{
		"total": 45, "ready": 1, "running": 2, "awaitingApproval": 3, "waiting": 4, "failing": 5, "drifted": 6, "paused": 7, "suspended": 8, "other": 9,
	}
	if got := c.byName(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheScreenIsSharedByWhatIsShown(t *testing.T) {
	lists := func(needs ...int) []section {
		var s []section
		for _, n := range needs {
			s = append(s, section{need: n})
		}
		return s
	}
	for sentence, c := range map[string]struct {
		needs  []int
		height int
		want   []int
	}{
		"no screen":                        {[]int{20, 5, 20}, 0, []int{10, 5, 10}},
		"room for all":                     {[]int{2, 3, 4}, 50, []int{2, 3, 4}},
		"what is at work comes first":      {[]int{4, 100, 10}, 20, []int{4, 5, 5}},
		"what waits may have a half":       {[]int{1, 100, 1}, 20, []int{1, 6, 1}},
		"a screen that is hardly anything": {[]int{4, 4, 4}, 3, []int{0, 0, 0}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := share(lists(c.needs...), c.height)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTopOfWideText(t *testing.T) {
	if diff := cmp.Diff([]string{"A     B", "東京  x", "vpc   y"}, inColumns([][]string{{"A", "B"}, {"東京", "x"}, {"vpc", "y"}})); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
	if got := (screenLine{{"東京", ""}, {"都", ""}}).cut(5); got.length() != 4 {
		t.Errorf("%v is %d columns wide", got, got.length())
	}
}
