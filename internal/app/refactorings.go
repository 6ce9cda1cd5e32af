// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// addRefactorings serves changes of several states as one operation.
func (e *engine) addRefactorings() {
	e.refactorings = &reshape.Desk{States: e.states, Blobs: e.blobs, Version: e.opts.Version, Changed: e.refactored, Log: e.opts.Log}
	e.collects = append(e.collects, e.refactorings.Collect)
}

// proposedState is the state that a speculative plan gets of a refactoring.
func (e *engine) proposedState(ctx context.Context, rec run.Record) (*state.Snapshot, error) {
	data, err := e.refactorings.State(ctx, rec.State.Namespace, rec.State.Proposed, rec.State.Stack)
	if err != nil {
		return nil, err
	}
	return state.NewSnapshot(data)
}

// notePreview records a speculative plan of a member of a refactoring: only what was previewed is applied.
func (e *engine) notePreview(obj *infrav1.Terraform, p content.PreviewRequest, uploaded bool, by string) func(context.Context, *speculative.Answer) error {
	preview := reshape.Preview{By: by, Program: content.ProgramOf(obj), Elsewhere: uploaded || p.Revision != ""}
	return func(ctx context.Context, answer *speculative.Answer) error {
		preview.Run, preview.Digest = answer.Run, answer.ChangesDigest
		switch answer.Result() {
		case speculative.ResultUnchanged:
		case speculative.ResultChanges:
			preview.Changes = true
		default:
			preview.Error = cmp.Or(answer.Error, answer.Result())
		}
		return e.refactorings.Note(ctx, obj.Namespace, p.Refactoring, obj.Name, preview)
	}
}

// refactored records the end of a refactoring at its stacks, and reconciles them: their states are others.
func (e *engine) refactored(r reshape.Record) {
	// The states are written, whatever became of the request: their stacks must know.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, m := range r.Members {
		var obj infrav1.Terraform
		if err := e.manager.GetClient().Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: m.Stack}, &obj); err != nil {
			continue // it was deleted
		}
		kind := corev1.EventTypeNormal
		if r.Phase == reshape.Failed {
			kind = corev1.EventTypeWarning
		}
		reconciling.Event(e.events, &obj, kind, infrav1.ReasonDoneByHand, "Refactor", r.Outcome(&m))
		e.announce(run.StackOf(&obj))
	}
}
