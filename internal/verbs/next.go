// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/shell"
)

// NextSteps are the commands to use next; call is the stack's name in them. People copy them, so names
// that others have chosen, such as that of a lock, are quoted.
func NextSteps(t *infrav1.Terraform, call string) []string {
	s, ready := &t.Status, conditionOf(t, infrav1.ConditionReady)
	moved, away := moving.MovedTo(t)
	_, handed := moving.HandedOver(t)
	switch {
	case handed:
		return []string{"yuba take-back " + call + "    (to work here again)"}
	case away:
		return []string{"yuba move --from " + shell.Quote(cmp.Or(moved.Name, "HOME")) + " --to HOME -n " + t.Namespace + "    (to work here again)"}
	case t.Spec.Suspend:
		return []string{"yuba resume " + call}
	case s.CurrentRun != nil:
		return []string{"yuba logs " + call + " -f"}
	case ready.Reason == infrav1.ReasonBreakTheGlass:
		return []string{"yuba shell " + call}
	case s.Lock.Pending != "":
		return []string{"yuba force-unlock " + call + " " + shell.Quote(s.Lock.Pending) + "    (only if the lock holder is gone)"}
	case ready.Reason == infrav1.ReasonStateTakenOver:
		return []string{"yuba state list " + call, "yuba state adopt " + call + "    (destroys the listed resources)"}
	case ready.Reason == infrav1.ReasonAccessDenied && strings.HasSuffix(ready.Message, infrav1.MessageCrossNamespace):
		// This reason also has other causes, and the message does not name the flag.
		return []string{"yuba up --allow-cross-namespace    (restart the server, or yuba controller, with this flag; yuba up --dev has it)"}
	case t.AwaitsApproval():
		steps := []string{"yuba plan " + call, "yuba approve " + call + " " + shell.Quote(s.Plan.Pending)}
		if s.TakenOver != nil {
			steps = append(steps, "yuba state drop "+call+"    (to start with an empty state instead)")
		}
		return steps
	case s.Plan.Pending != "" && t.RefusedByPolicy():
		return []string{"yuba plan " + call}
	case s.Plan.Pending != "" && t.Annotations[infrav1.AnnotationRejected] == s.Plan.Pending:
		return []string{"yuba replan " + call}
	case ready.Reason == infrav1.ReasonBackendChanged:
		return []string{"yuba state migrate " + call + " --dry-run", "yuba state migrate " + call}
	case ready.Reason == infrav1.ReasonStateMissing || ready.Reason == infrav1.ReasonStateUnreadable:
		return []string{"yuba state history " + call, "yuba state rollback " + call + " VERSION"}
	case conditionOf(t, infrav1.ConditionPaused).Status == metav1.ConditionTrue:
		return []string{"yuba get circuitbreakers", "yuba reconcile " + call}
	case ready.Status == metav1.ConditionFalse && s.LastRun != nil && failed(s.LastRun):
		return []string{"yuba logs " + call + " --run " + s.LastRun.ID, "yuba replan " + call}
	}
	return nil
}

func conditionOf(t *infrav1.Terraform, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(t.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// failed reports whether a run failed or was interrupted.
func failed(r *infrav1.RunReference) bool {
	return r.Status == "failed" || r.Status == "interrupted"
}
