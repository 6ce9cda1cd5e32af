// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/review"
)

// Permit decides whether an apply that holds the state's lock is still wanted. It reads the object
// from the API, and names the run in its status.
func (r *Reconciler) Permit(ctx context.Context, rec run.Record, planned *run.PlanResult) (bool, string, error) {
	obj, no, err := r.stackOf(ctx, rec)
	if obj == nil || err != nil {
		return false, no, err
	}
	takeover, err := stateAccessOf(r).takeoverObjection(ctx, obj, rec)
	if err != nil {
		return false, "", err
	}
	contracts, err := contractsOf(r).objection(ctx, obj, rec)
	if err != nil {
		return false, "", err
	}
	if no := cmp.Or(objection(obj, rec), outagesOf(r).outageObjection(obj, rec), takeover, contracts, judgeOf(r).policyObjection(ctx, obj, rec)); no != "" {
		return false, no, nil
	}
	if err := judgeOf(r).recordApply(ctx, obj, rec); err != nil {
		return false, "", err
	}
	// A run that only checks modules has not changed Ready so far.
	told := rec.Spec.Unless == "" || conditions.Of(obj, infrav1.ConditionReady).Status != metav1.ConditionTrue
	if ref := obj.Status.CurrentRun; ref != nil && ref.ID == rec.Spec.ID && !rec.Spec.Operation.ByHand() && told {
		if planned != nil || !rec.Spec.Direct { // otherwise it plans first, and reports when it begins to change something
			r.Changing(rec)
		}
		return true, "", nil
	}
	before := obj.DeepCopy()
	describeApply(obj, rec)
	obj.Status.Summary = summarize(situation{obj: obj})
	if err := r.patchStatus(ctx, obj, before); err != nil {
		return false, "", err
	}
	return true, "", nil
}

// applyTakes is the duration after which the status reports an apply: most have ended by then.
const applyTakes = time.Second

// Changing reconciles the stack if a run that changes something takes long.
func (r *Reconciler) Changing(rec run.Record) {
	time.AfterFunc(applyTakes, func() {
		if !r.Runs.Working(rec.Spec.ID) {
			return
		}
		select {
		case r.applying <- rec.Spec.Stack:
		default: // many begin at once; that status shows less until the end
		}
	})
}

// describeApply reports that a run's apply begins, and names the run if the status did not.
func describeApply(obj *infrav1.Terraform, rec run.Record) {
	if ref := obj.Status.CurrentRun; ref == nil || ref.ID != rec.Spec.ID {
		started := metav1.NewTime(rec.Created)
		obj.Status.CurrentRun = &infrav1.RunReference{ID: rec.Spec.ID, Operation: string(rec.Spec.Operation), StartedAt: &started}
	}
	obj.Status.CurrentRun.Status = "applying"
	if rec.Spec.Operation.ByHand() {
		return
	}
	setCondition(obj, infrav1.ConditionApply, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplyStarted)
	if rec.Spec.Purpose != run.PurposeDelete {
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplying)
	}
}

// rejected reports whether a run applies a rejected plan: that plan, or, if the run plans itself,
// any while a rejected plan is pending.
func rejected(obj *infrav1.Terraform, rec run.Record) bool {
	no := obj.Annotations[infrav1.AnnotationRejected]
	if rec.Spec.Plan != nil {
		return no != "" && no == rec.Spec.Plan.ID
	}
	return no != "" && no == obj.Status.Plan.Pending
}

// objection says why a run must not apply; empty if it may.
func objection(obj *infrav1.Terraform, rec run.Record) string {
	if rec.Spec.Operation.ByHand() {
		return ""
	}
	deleting := !obj.DeletionTimestamp.IsZero()
	switch {
	case obj.Spec.Suspend:
		return "the stack was suspended"
	case heldByHand(obj):
		return "the stack is held for manual work"
	case rec.Spec.Purpose == run.PurposeDelete:
		if !deleting || !obj.Spec.DestroyResourcesOnDeletion {
			return "the stack is no longer set to be destroyed"
		}
		if rec.Spec.Plan != nil && rejected(obj, rec) {
			return "the plan was rejected"
		}
		return ""
	case deleting:
		return "the stack is being deleted"
	case rec.Generation != 0 && rec.Generation != obj.Generation:
		return "the stack has changed since the run began"
	case rec.Spec.Destroy != obj.Spec.Destroy:
		return "spec.destroy has changed"
	case obj.Spec.PlanOnly || obj.DriftOnly():
		return "the stack only allows plans"
	case rejected(obj, rec):
		return "the plan was rejected"
	case obj.PullRequestHold() != nil && !namedForPullRequest(obj, rec):
		return "the stack is held for a pull request, and nobody approved exactly this plan"
	case obj.AutoApproves() || obj.Spec.Force:
		return ""
	case obj.ByPolicy() && rec.Spec.Plan != nil, rec.Spec.Plan != nil && approvedByName(obj) == rec.Spec.Plan.ID:
		return "" // policyObjection decides
	case rec.Spec.Plan != nil && obj.Spec.ApprovePlan == rec.Spec.Plan.ID && obj.Status.Plan.Pending == rec.Spec.Plan.ID:
		return ""
	}
	return "its approval was withdrawn"
}

// stackOf reads the stack of a run from the API, or says why the run must end.
func (r *Reconciler) stackOf(ctx context.Context, rec run.Record) (*infrav1.Terraform, string, error) {
	var obj infrav1.Terraform
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: rec.Spec.Stack.Namespace, Name: rec.Spec.Stack.Name}, &obj)
	switch {
	case apierrors.IsNotFound(err):
		return nil, "the stack was deleted", nil
	case err != nil:
		return nil, "", err
	case string(obj.UID) != rec.Spec.Stack.UID:
		return nil, "another stack of the same name has replaced it", nil
	}
	return &obj, "", nil
}

// Webhooks asks services about plans.
type Webhooks interface {
	// Ask asks the stack's i-th webhook. Nil lets the plan pass.
	Ask(ctx context.Context, i int, hook infrav1.Webhook, payload []byte) error
}

// Review asks the stack's webhooks about a plan, one after the other, before it is kept or applied.
// The first refusal, or missing answer, ends the run.
func (r *Reconciler) Review(ctx context.Context, rec run.Record, _ *run.PlanResult) (bool, string, error) {
	obj, no, err := r.stackOf(ctx, rec)
	if obj == nil || err != nil {
		return false, no, err
	}
	document, err := r.Runs.ReadPart(ctx, rec.Spec.Stack, rec.Spec.ID, run.BlobPlanShow)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return false, "", err
	}
	for _, i := range obj.ActiveWebhooks() {
		hook := obj.Spec.Webhooks[i]
		if review.NeedsPlan(hook.PayloadType) && len(document) == 0 {
			return false, fmt.Sprintf("spec.webhooks[%d] needs the plan, which is too large to send", i), nil
		}
		payload, err := review.Payload(hook.PayloadType, obj, document)
		if err != nil {
			return false, fmt.Sprintf("prepare spec.webhooks[%d]: %s", i, err), nil
		}
		if err := r.Webhooks.Ask(ctx, i, hook, payload); err != nil {
			r.Log.Info("webhook refused a plan", "stack", rec.Spec.Stack.String(), "run", rec.Spec.ID, "webhook", i)
			return false, err.Error(), nil
		}
	}
	return true, "", nil
}
