// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/caller"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// export serves everything that the blob store has of the stack, see package parcel. It contains
// variables and states in clear text. With the parameter "part" it serves only the part of bounded
// size after the unit "after".
func (h *Handler) export(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Parcels == nil {
		return notFound("this server does not export the content of stacks")
	}
	w.Header().Set("Content-Type", "application/x-tar")
	var part parcel.Part
	if query := r.URL.Query(); query.Has("part") {
		part = parcel.Part{After: query.Get("after"), Size: parcel.PartSize, Time: parcel.PartTime}
	}
	of := subject(obj)
	if h.AuditLog != nil {
		chain, err := h.AuditLog.Chain(r.Context(), obj.Namespace, obj.Name)
		if err != nil {
			return err
		}
		if head := chain.Head(); head.Number > 0 {
			of.Audit = &parcel.AuditEnd{Server: h.Holder, Number: head.Number, Digest: head.Digest}
		}
	}
	if err := h.Parcels.Write(r.Context(), w, of, part); err != nil {
		h.Log.Error("an export failed", "stack", run.StackOf(obj).String(), "error", err)
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	h.Log.Info("content of a stack exported", "stack", run.StackOf(obj).String(), "by", user(r), "after", part.After)
	return nil
}

// takeParcel stores the content of a stack from another home. The stack must be suspended: its
// controller would use a part of the content.
func (h *Handler) takeParcel(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Parcels == nil {
		return notFound("this server does not import the content of stacks")
	}
	stack := run.StackOf(obj)
	if err := h.takes(stack, obj); err != nil {
		return err
	}
	to := subject(obj)
	to.Still = func(ctx context.Context) error {
		now := &infrav1.Terraform{}
		if err := h.Reader.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			return err
		}
		if now.UID != obj.UID || now.Generation != obj.Generation {
			return conflict("import the content of " + stack.String() + ": it was changed meanwhile. Import again")
		}
		return h.takes(stack, now)
	}
	summary, err := h.Parcels.Read(r.Context(), r.Body, to)
	var bad *parcel.BadError
	if errors.As(err, &bad) {
		return badRequest(bad.Error())
	}
	if err != nil {
		return err
	}
	if h.Imported != nil {
		h.Imported(stack)
	}
	if end := summary.Audit; end != nil && h.ContinueAudit != nil {
		origin := audit.Origin{Server: end.Server, Head: audit.Head{Number: end.Number, Digest: end.Digest}}
		if err := origin.Check(); err != nil {
			return badRequest(err.Error())
		}
		who := audit.Who{User: user(r), Impersonator: caller.Impersonator(r.Context()), Address: from(r)}
		if err := h.ContinueAudit(r.Context(), obj, who, origin); err != nil {
			return err
		}
	}
	h.Log.Info("content of a stack imported", "stack", stack.String(), "by", user(r), "versions", len(summary.Versions), "runs", len(summary.Runs))
	return writeJSON(w, summary)
}

// takes refuses an import into a stack that works.
func (h *Handler) takes(stack run.Stack, obj *infrav1.Terraform) error {
	if _, _, busy := h.Runs.InHand(stack); busy || !obj.Spec.Suspend {
		return conflict("import the content of " + stack.String() + ": it must be suspended, and no run of it in progress:\n    yuba suspend " + stack.String())
	}
	return nil
}

func conflict(message string) error {
	return &refusal{http.StatusConflict, "Conflict", message}
}

// subject names the stack, its state and what it may need again.
func subject(obj *infrav1.Terraform) parcel.Subject {
	of := parcel.Subject{Stack: run.StackOf(obj), Needed: []string{obj.Status.LastAppliedRun, obj.Status.Plan.RunID}}
	of.Ref = run.StateRef{Namespace: obj.Namespace, Workspace: obj.WorkspaceName(), Suffix: obj.StateSuffix(), Stack: obj.Name, Scope: scope.Of(obj.Labels)}
	if obj.Spec.BackendConfig != nil {
		of.Ref.Labels = obj.Spec.BackendConfig.Labels
	}
	for _, t := range obj.Spec.IdentityTokens {
		if t.Audience != run.RunnersAudience {
			of.ServiceAccount, of.Audiences = obj.RunnerServiceAccount(), append(of.Audiences, t.Audience)
		}
	}
	if !obj.KeepsOwnState() {
		key := keyOf(obj)
		key.UID = string(obj.UID)
		of.State = &key
	}
	if a := obj.Status.LastAppliedArtifact; a != nil {
		of.Artifacts = append(of.Artifacts, a.Digest)
	}
	return of
}
