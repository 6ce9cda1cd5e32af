// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// The statuses of run references whose run did not succeed.
const (
	runFailed      = string(run.OutcomeFailed)
	runInterrupted = string(run.OutcomeInterrupted)
	runCanceled    = string(run.OutcomeCanceled)
)

// FormerName is the deleted stack's name with its namespace.
func FormerName(t *infrav1.Terraform, from *infrav1.StateTakeover) string {
	return t.Namespace + "/" + from.Name
}

// DeletedAt is the time when the former stack was deleted, if known.
func DeletedAt(from *infrav1.StateTakeover) string {
	if from.DeletedAt == nil {
		return ""
	}
	return " " + from.DeletedAt.UTC().Format("2006-01-02 15:04 MST")
}

// StateInWords describes a stack: its Ready message, unless something more specific applies.
func StateInWords(t *infrav1.Terraform) string {
	ready := ConditionOf(t, infrav1.ConditionReady)
	switch {
	case t.Spec.Suspend:
		return "Suspended: Yuba does nothing until it is resumed."
	case t.AwaitsApproval() && ready.Status == metav1.ConditionUnknown:
		return "The plan waits for approval."
	case ready.Message == "" && t.Status.ObservedGeneration < 0:
		return "Not reconciled yet."
	}
	return ready.Message
}

// Failed reports whether a run failed or was interrupted.
func Failed(r *infrav1.RunReference) bool {
	return r.Status == runFailed || r.Status == runInterrupted
}
