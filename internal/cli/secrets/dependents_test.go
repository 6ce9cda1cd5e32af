// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

func reading(secret string) *infrav1.Terraform {
	t := &infrav1.Terraform{}
	t.Namespace, t.Name = "prod", "app"
	if secret != "" {
		t.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: secret}}
	}
	return t
}

func TestWhichStacksAFileConcerns(t *testing.T) {
	deleted := reading("shop")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	secret := func(namespace string) *declare.File {
		return &declare.File{Store: declare.Store{Vault: &declare.Vault{}}, Copies: []declare.Store{{Kubernetes: &declare.Kubernetes{Namespace: namespace, Name: "shop"}}}}
	}
	for sentence, test := range map[string]struct {
		stack *infrav1.Terraform
		file  *declare.File
		want  bool
	}{
		"it reads the Secret":                                 {reading("shop"), secret("prod"), true},
		"it reads it, and the file has no namespace":          {reading("shop"), secret(""), true},
		"it reads one of another namespace":                   {reading("shop"), secret("staging"), false},
		"it reads another one":                                {reading("other"), secret(""), false},
		"it reads none any more":                              {reading(""), secret(""), false},
		"it is being deleted":                                 {deleted, secret("prod"), false},
		"the file names it":                                   {reading(""), &declare.File{Dependents: []string{"prod/app"}}, true},
		"the file names it without a namespace":               {reading(""), &declare.File{Dependents: []string{"app"}}, true},
		"the file names it bare, where its Secret is":         {reading(""), named(secret("prod"), "app"), true},
		"the file names it bare, and its Secret is elsewhere": {reading(""), named(secret("staging"), "app"), false},
		"the file names one of another namespace":             {reading(""), &declare.File{Dependents: []string{"staging/app"}}, false},
	} {
		if got := concerns(test.stack, test.file); got != test.want {
			t.Errorf("%s: got %v", sentence, got)
		}
	}
}

// A stack that cannot run does not hold the command: a lock, a dependency and a resting circuit begin no run.
func named(f *declare.File, dependents ...string) *declare.File {
	f.Dependents = dependents
	return f
}

func TestWhatAStackWaitsFor(t *testing.T) {
	const request, last = "now", "run-1"
	stack := func(status metav1.ConditionStatus, reason, message string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
		s := reading("shop")
		s.Status.LastHandledReconcileAt, s.Status.LastRun = request, &infrav1.RunReference{ID: last}
		s.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: message}}
		for _, c := range change {
			c(s)
		}
		return s
	}
	with := func(kind, message string) func(*infrav1.Terraform) {
		return func(s *infrav1.Terraform) {
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Message: message})
		}
	}
	for sentence, test := range map[string]struct {
		stack *infrav1.Terraform
		rests string
		over  bool
	}{
		"the state is locked":           {stack(metav1.ConditionFalse, infrav1.ReasonLockHeld, "locked by ci"), "locked by ci", false},
		"a dependency is not ready":     {stack(metav1.ConditionFalse, infrav1.ReasonDependencyNotReady, "prod/db is not ready"), "prod/db is not ready", false},
		"inputs are missing":            {stack(metav1.ConditionFalse, infrav1.ReasonWaiting, "no contract"), "no contract", false},
		"somebody works by hand":        {stack(metav1.ConditionUnknown, infrav1.ReasonBreakTheGlass, "held by ann"), "held by ann", false},
		"the circuit rests":             {stack(metav1.ConditionTrue, infrav1.ReasonApplied, "applied", with(infrav1.ConditionPaused, "paused until noon")), "paused until noon", false},
		"no reason is given":            {stack(metav1.ConditionUnknown, "", ""), "it is not ready", false},
		"the request was not seen yet":  {stack(metav1.ConditionFalse, infrav1.ReasonLockHeld, "locked", func(s *infrav1.Terraform) { s.Status.LastHandledReconcileAt = "before" }), "", false},
		"a run is under way":            {stack(metav1.ConditionFalse, infrav1.ReasonLockHeld, "locked", func(s *infrav1.Terraform) { s.Status.CurrentRun = &infrav1.RunReference{ID: "run-2"} }), "", false},
		"the run has ended":             {stack(metav1.ConditionTrue, infrav1.ReasonApplied, "applied", func(s *infrav1.Terraform) { s.Status.LastRun.ID = "run-2" }), "", true},
		"the run begins at any moment":  {stack(metav1.ConditionTrue, infrav1.ReasonApplied, "applied"), "", false},
		"it is suspended":               {stack(metav1.ConditionFalse, infrav1.ReasonSuspended, "suspended", func(s *infrav1.Terraform) { s.Spec.Suspend = true }), "", true},
		"it is stalled for wrong input": {stack(metav1.ConditionFalse, infrav1.ReasonVarsGenerationFailed, "no", with(infrav1.ConditionStalled, "no")), "", true},
	} {
		if got := rests(test.stack, request, last); got != test.rests {
			t.Errorf("%s: it waits for %q", sentence, got)
		}
		if got := over(test.stack, request, last); got != test.over {
			t.Errorf("%s: over is %v", sentence, got)
		}
	}
}
