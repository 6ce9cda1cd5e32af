// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// stackThat is a stack named team/vpc that differs from an idle one as the changes say.
func stackThat(changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{}
	t.Namespace, t.Name, t.ResourceVersion, t.Status.ObservedGeneration = "team", "vpc", "7", 1
	for _, change := range changes {
		change(t)
	}
	return t
}

func ready(status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: message}}
	}
}

func pending(id string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Status.Plan.Summary = id, "+1 ~2 -0" }
}

func lastRun(id, outcome string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.LastRun = &infrav1.RunReference{ID: id, Operation: "apply", Status: outcome}
	}
}

var allowCrossNamespace = []string{"yuba up --allow-cross-namespace    (restart the server, or yuba controller, with this flag; yuba up --dev has it)"}
