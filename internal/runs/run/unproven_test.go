// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "testing"

func TestResourceTypeOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"aws_instance.web":                                "aws_instance",
		"aws_instance.web[0]":                             "aws_instance",
		`aws_instance.web["a.b[c]\"d"]`:                   "aws_instance",
		`module.m["x.y"].module.n[1].aws_vpc.v["module"]`: "aws_vpc",
		"module.m":    "",
		"(sensitive)": "",
		"":            "",
	} {
		if got := ResourceType(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestUnprovenInWords(t *testing.T) {
	for _, test := range []struct {
		unproven Unproven
		want     string
	}{
		{Unproven{Address: "a.b", MayExist: true}, "a.b: may exist, and no state has it"},
		{Unproven{Address: "a.b", MayExist: true, Certain: true, ID: "i-1"}, "a.b (i-1): was created, and no state has it"},
		{Unproven{Address: "a.b", MayExist: true, ID: "i-1", Identity: `name "web"`}, `a.b (i-1, name "web"): may exist, and no state has it`},
		{Unproven{Address: "a.b", MayBeGone: true, ID: "i-1", Identity: `id "i-1"`}, `a.b (id "i-1"): may be gone, though the state has it`},
		{Unproven{Address: "a.b", MayBeGone: true, Certain: true}, "a.b: was destroyed, and the state still has it"},
		{Unproven{Address: "a.b", MayExist: true, MayBeGone: true}, "a.b: may be gone, and its replacement may exist"},
		{Unproven{Address: "a.b", MayExist: true, MayBeGone: true, Certain: true}, "a.b: was replaced, and the state has the object before"},
		{Unproven{Address: "a.b", MayExist: true, Many: true}, "a.b: any number of it may exist"},
		{Unproven{Address: "a.b", MayExist: true, StateUnread: true}, "a.b: may exist, and its state could not be read"},
		{Unproven{Address: "a.b", MayExist: true, Certain: true, StateUnread: true}, "a.b: was created, and its state could not be read"},
		{Unproven{Address: "a.b", MayBeGone: true, StateUnread: true}, "a.b: may be gone, and its state could not be read"},
		{Unproven{Address: "a.b", MayBeGone: true, Certain: true, StateUnread: true}, "a.b: was destroyed, and its state could not be read"},
		{Unproven{Address: "a.b", MayExist: true, MayBeGone: true, StateUnread: true}, "a.b: may be gone, and its replacement may exist"},
		{Unproven{Address: "a.b", MayExist: true, MayBeGone: true, Certain: true, StateUnread: true}, "a.b: was replaced, and its state could not be read"},
	} {
		if got := test.unproven.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestWhichRunsWereCutOff(t *testing.T) {
	for sentence, test := range map[string]struct {
		result Result
		want   bool
	}{
		"nothing was begun":       {Result{Outcome: OutcomeFailed}, false},
		"it succeeded":            {Result{Outcome: OutcomeSucceeded, ApplyStarted: true}, false},
		"the apply failed":        {Result{Outcome: OutcomeFailed, ApplyStarted: true, FailedStep: StepApply}, true},
		"only the outputs failed": {Result{Outcome: OutcomeFailed, ApplyStarted: true, FailedStep: StepOutput}, false},
		"and the state was lost":  {Result{Outcome: OutcomeFailed, ApplyStarted: true, FailedStep: StepOutput, Class: FailureState}, true},
	} {
		if got := test.result.CutOff(); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
