// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// tracePause is how far a status may lag behind drift checks: a thousand stacks that are checked
// each minute must not write a thousand times a minute.
const tracePause = time.Hour

// leaveTrace records that a drift check found nothing new: the first clean one, so that Ready says
// NoDrift, and then one an hour.
func leaveTrace(obj *infrav1.Terraform, rec run.Record) {
	result, status := rec.Result, &obj.Status
	if result.Outcome != run.OutcomeSucceeded || result.Plan == nil {
		return
	}
	reads.LearnModules(obj, rec)
	finished := metav1.NewTime(result.Finished)
	if result.Plan.Changes {
		if status.Plan.IsDriftDetectionPlan && traceDue(obj, status.LastDriftDetectedAt, finished) {
			status.LastDriftCheckAt, status.LastDriftDetectedAt = &finished, &finished
		}
		return
	}
	ready := conditions.Of(obj, infrav1.ConditionReady)
	healthy := ready.Status == metav1.ConditionTrue
	first := drifted(rec) && healthy && ready.Reason != infrav1.ReasonNoDrift
	if !first && !traceDue(obj, status.LastDriftCheckAt, finished) {
		return
	}
	if status.LastDriftCheckAt = &finished; healthy {
		status.LastSuccessfulReconcileAt = &finished
	}
	if first {
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, at(infrav1.MessageNoDrift, rec.Spec.Artifact.Revision))
	}
}

func traceDue(obj *infrav1.Terraform, last *metav1.Time, now metav1.Time) bool {
	return last == nil || now.Sub(last.Time) >= tracePause+spread(obj.UID)
}

// spread is up to a quarter of the pause, by UID: stacks applied together must not write together.
func spread(uid types.UID) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(uid)) //nolint:errcheck // a hash takes everything
	return time.Duration(h.Sum32()%uint32(tracePause/4/time.Second)) * time.Second
}
