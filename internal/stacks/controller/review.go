// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/review"
)

// Webhooks asks services about plans.
type Webhooks interface {
	// Ask asks the stack's i-th webhook. Nil means that the plan passes; any error that it does not.
	Ask(ctx context.Context, i int, hook infrav1.Webhook, payload []byte) error
}

// activeWebhooks are the indices of the webhooks that are asked about plans.
func activeWebhooks(obj *infrav1.Terraform) []int {
	var active []int
	for i, hook := range obj.Spec.Webhooks {
		if hook.Stage == infrav1.WebhookPostPlanning && (hook.Enabled == nil || *hook.Enabled) {
			active = append(active, i)
		}
	}
	return active
}

// Review is asked about each plan with changes of a stack that has webhooks, before the plan is kept or applied. They are
// asked one after the other; the first that refuses, or that does not answer, ends the run.
func (r *Reconciler) Review(ctx context.Context, rec run.Record, _ *run.PlanResult) (bool, string, error) {
	var obj infrav1.Terraform
	key := types.NamespacedName{Namespace: rec.Spec.Stack.Namespace, Name: rec.Spec.Stack.Name}
	if err := r.Reader.Get(ctx, key, &obj); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, "the stack is gone", nil
		}
		return false, "", err
	}
	if string(obj.UID) != rec.Spec.Stack.UID {
		return false, "the stack was replaced by another of its name", nil
	}
	document, err := r.Runs.ReadPart(ctx, rec.Spec.Stack, rec.Spec.ID, run.BlobPlanShow)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return false, "", err
	}
	for _, i := range activeWebhooks(&obj) {
		hook := obj.Spec.Webhooks[i]
		if review.NeedsPlan(hook.PayloadType) && len(document) == 0 {
			return false, fmt.Sprintf("spec.webhooks[%d] wants the plan, which is too large to be sent", i), nil
		}
		payload, err := review.Payload(hook.PayloadType, &obj, document)
		if err != nil {
			return false, fmt.Sprintf("prepare spec.webhooks[%d]: %s", i, err), nil
		}
		if err := r.Webhooks.Ask(ctx, i, hook, payload); err != nil {
			r.Log.Info("a webhook did not let a plan pass", "stack", rec.Spec.Stack.String(), "run", rec.Spec.ID, "webhook", i)
			return false, err.Error(), nil
		}
	}
	return true, "", nil
}
