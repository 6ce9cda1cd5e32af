// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// newID is the id of a hand-over.
func newID(now time.Time) string {
	random := make([]byte, 4)
	rand.Read(random) //nolint:errcheck // never fails, see its documentation
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(random)
}

// begin marks and suspends the stack, or returns the mark of the same hand-over that was interrupted.
func (h *handover) begin(ctx context.Context, t *infrav1.Terraform) (moving.Handover, error) {
	key := session.KeyOf(t)
	if m, marked := moving.HandedOver(t); marked {
		switch {
		case m.Phase == moving.PhaseDone:
			return m, ui.Exitf(ui.ExitWaiting, "hand over %s: it belongs to %s since %s. To work here again:\n    yuba take-back %s", key, m.Owner, m.Since.Format(time.RFC3339), key)
		case m.Phase != moving.PhaseLeaving && m.Phase != moving.PhaseArming || m.To != h.to || m.Dir != h.dirOf(t):
			return m, ui.Exitf(ui.ExitWaiting, "hand over %s: another hand-over or take-back of it is in progress (to %s, %s). Continue that one, or undo it first:\n    yuba take-back %s", key, m.To, m.Dir, key)
		}
		h.News("%s: continuing the hand-over that began at %s.", key, m.Since.Format(time.RFC3339))
		return m, nil
	}
	if held := moving.Held(t); held != "" {
		return moving.Handover{}, ui.Exitf(ui.ExitWaiting, "hand over %s: %s", key, held)
	}
	if t.Status.LastAppliedRun == "" {
		return moving.Handover{}, ui.Exitf(ui.ExitFailure, "hand over %s: it was never applied here, so there is nothing to hand over", key)
	}
	now := time.Now()
	m := moving.Handover{ID: newID(now), To: h.to, Owner: h.ownerOf(t), Dir: h.dirOf(t), Phase: moving.PhaseLeaving, Since: now.UTC().Truncate(time.Second),
		Before: map[string]any{"suspend": beforeOf(t.Spec.Suspend), "destroyResourcesOnDeletion": beforeOf(t.Spec.DestroyResourcesOnDeletion)}}
	return m, patchMark(ctx, h.Session, t, &m, map[string]any{"suspend": true, "destroyResourcesOnDeletion": false})
}

// beforeOf is the value that a field gets back: null removes it.
func beforeOf(set bool) any {
	if set {
		return true
	}
	return nil
}

// patchMark writes the mark, nil to remove it, and fields of the spec in one request, bound to the version that was read.
func patchMark(ctx context.Context, s *session.Session, t *infrav1.Terraform, m *moving.Handover, spec map[string]any) error {
	annotations := map[string]any{moving.AnnotationHandedOver: nil, infrav1.AnnotationReconcile: session.NewRequest()}
	if m != nil {
		annotations[moving.AnnotationHandedOver] = m.Text()
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": annotations, "resourceVersion": t.ResourceVersion}}
	if spec != nil {
		patch["spec"] = spec
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if err := s.Objects.Patch(ctx, t, client.RawPatch(types.MergePatchType, data), session.FieldOwner); err != nil {
		return fmt.Errorf("mark %s: %w", session.KeyOf(t), err)
	}
	return nil
}

// changedError means that a mark is not what a step needs, because somebody else has changed it meanwhile.
type changedError struct {
	key types.NamespacedName
	now string
}

func (e *changedError) Error() string {
	return fmt.Sprintf("mark %s: somebody has changed its mark meanwhile: %s", e.key, e.now)
}

// from lists the phases that a step begins in.
type from []moving.Phase

// anyPhase is for steps that need no certain phase.
var anyPhase from

// remark changes the mark of a hand-over whatever else has changed in the stack meanwhile. The mark is compared and
// swapped: if it is of another hand-over, or in none of the phases, the answer is a *changedError.
func remark(ctx context.Context, s *session.Session, key types.NamespacedName, id string, phases from, change func(*moving.Handover) (*moving.Handover, map[string]any)) error {
	const attempts = 10
	for attempt := 1; ; attempt++ {
		t, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		m, marked := moving.HandedOver(t)
		if !marked || m.ID != id {
			return &changedError{key, "it was taken back, or is handed over anew"}
		}
		if len(phases) > 0 && !slices.Contains(phases, m.Phase) {
			return &changedError{key, fmt.Sprintf("its phase is %q, which began elsewhere", m.Phase)}
		}
		next, spec := change(&m)
		err = patchMark(ctx, s, t, next, spec)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
	}
}

const (
	quietPause = 250 * time.Millisecond
	newsPause  = 10 * time.Second
)

// quiet waits until no run of the stack is active and nobody holds its lock. No run begins after the mark.
func (h *handover) quiet(ctx context.Context, key types.NamespacedName) (*infrav1.Terraform, error) {
	told := time.Now()
	for {
		t, err := h.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		busy, err := h.busy(ctx, t)
		if err != nil || busy == "" {
			return t, err
		}
		if time.Since(told) > newsPause {
			told = time.Now()
			h.News("%s: waiting for %s …", key, busy)
		}
		select {
		case <-ctx.Done():
			return nil, ui.Exitf(ui.ExitWaiting, "hand over %s: still waiting for %s. It stays suspended and marked. To continue, run the same command again; to undo it:\n    yuba take-back %s", key, busy, key)
		case <-time.After(quietPause):
		}
	}
}

func (h *handover) busy(ctx context.Context, t *infrav1.Terraform) (string, error) {
	if t.Status.CurrentRun != nil {
		return "run " + t.Status.CurrentRun.ID, nil
	}
	queue, err := h.Content.Queue(ctx)
	if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("list the runs of the home: %w", err)
	}
	for _, e := range queue.Items {
		if e.Namespace == t.Namespace && e.Name == t.Name {
			return "run " + e.Run, nil
		}
	}
	if t.KeepsOwnState() {
		return "", nil
	}
	holder, err := lockHolder(ctx, h.Session, t)
	if err != nil || holder == nil {
		return "", err
	}
	return "the lock of " + holder.Who, nil
}

func lockHolder(ctx context.Context, s *session.Session, t *infrav1.Terraform) (*state.LockInfo, error) {
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	name := state.KeyOfStack(t).LeaseName()
	err := s.Objects.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, read)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock of %s: %w", session.KeyOf(t), err)
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, &lease); err != nil {
		return nil, fmt.Errorf("read the lock of %s: %w", session.KeyOf(t), err)
	}
	return state.HolderOf(&lease), nil
}
