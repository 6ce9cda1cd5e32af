// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// change starts a change of the state and answers with its run. Changes that the server makes
// itself are complete by then, and their errors are returned.
func (h *Handler) change(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	query := r.URL.Query()
	c := &run.StateChange{Verb: run.StateVerb(query.Get("verb")), Args: query["arg"]}
	c.Force, _ = strconv.ParseBool(query.Get("force"))     //nolint:errcheck // anything else means no
	c.Preview, _ = strconv.ParseBool(query.Get("preview")) //nolint:errcheck // anything else means no
	c.Accept, _ = strconv.ParseBool(query.Get("accept"))   //nolint:errcheck // anything else means no
	c.BreakLock = query.Get("breakLock")
	if err := h.mayChange(r, obj, c); err != nil {
		return err
	}
	if err := readBody(w, r, c); err != nil {
		return err
	}
	rec, err := h.operate(r, obj, run.Request{Operation: run.OperationState, Change: c, Expect: query.Get("expect")})
	if err != nil {
		return err
	}
	return writeJSON(w, rec.PublicTo(user(r)))
}

// readBody reads the state or the expressions of a request.
func readBody(w http.ResponseWriter, r *http.Request, c *run.StateChange) (err error) {
	switch c.Verb {
	case run.StatePush:
		c.State, err = io.ReadAll(http.MaxBytesReader(w, r.Body, state.MaxSize))
	case run.StateConsole:
		c.Input, err = io.ReadAll(http.MaxBytesReader(w, r.Body, run.MaxInput))
	}
	return err
}

// mayChange refuses what users who may only change states may not do: breaking a lock and reading a state
// have rights of their own.
func (h *Handler) mayChange(r *http.Request, obj *infrav1.Terraform, c *run.StateChange) error {
	if c.BreakLock != "" || c.Verb == run.StateUnlock {
		if err := h.may(r, obj, "create", "unlock", "break its lock", "let its holder release it"); err != nil {
			return err
		}
	}
	if c.Verb.Reads() {
		return h.may(r, obj, "get", "state", "read its state", "let somebody else read it")
	}
	return nil
}

// may asks the API server whether the user has a right; what and otherwise are for the refusal.
func (h *Handler) may(r *http.Request, obj *infrav1.Terraform, verb, subresource, what, otherwise string) error {
	info, known := request.UserFrom(r.Context())
	if !known || info.GetName() == "" {
		return apierrors.NewUnauthorized(what + ": the API server did not say who you are")
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: Group, Version: Version, Resource: "terraforms", Subresource: subresource,
			Verb: verb, Namespace: obj.Namespace, Name: obj.Name},
	}}
	for key, values := range info.GetExtra() {
		review.Spec.Extra[key] = values
	}
	if err := h.Client.Create(r.Context(), review); err != nil {
		return fmt.Errorf("ask whether %s may %s of %s/%s: %w", info.GetName(), what, obj.Namespace, obj.Name, err)
	}
	if !review.Status.Allowed {
		return apierrors.NewForbidden(schema.GroupResource{Group: Group, Resource: "terraforms/" + subresource}, obj.Name,
			fmt.Errorf("you may not %s. Ask for the right to %s terraforms/%s, or %s", what, verb, subresource, otherwise))
	}
	return nil
}

func (h *Handler) operate(r *http.Request, obj *infrav1.Terraform, req run.Request) (run.Record, error) {
	if c := req.Change; c != nil {
		if err := c.Check(); err != nil {
			return run.Record{}, badRequest(err.Error())
		}
	}
	if h.Operate == nil {
		return run.Record{}, notFound("this server does not change states")
	}
	req.By = user(r)
	rec, err := h.Operate(r.Context(), client.ObjectKeyFromObject(obj), req)
	if err != nil {
		return rec, err
	}
	h.Log.Info("manual operation started", "stack", run.StackOf(obj).String(), "run", rec.Spec.ID, "what", rec.Spec.Title(), "by", req.By)
	if result := rec.Result; result != nil && result.Outcome != run.OutcomeSucceeded {
		return rec, &refusal{http.StatusConflict, metav1.StatusReasonConflict, result.Error}
	}
	return rec, nil
}

// rollback restores a state version and answers with the result.
func (h *Handler) rollback(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	id := r.URL.Query().Get("version")
	if id == "" {
		return badRequest("rollback needs ?version=")
	}
	from, err := h.version(r.Context(), obj, id)
	if err != nil {
		return err
	}
	rec, err := h.operate(r, obj, run.Request{Operation: run.OperationState,
		Change: &run.StateChange{Verb: run.StateRollback, Args: []string{id}}})
	if err != nil {
		return err
	}
	done := state.Rollback{From: from}
	for version, err := range h.States.Versions(r.Context(), keyOf(obj)) {
		var damaged *state.CorruptError
		if err != nil && !errors.As(err, &damaged) {
			return err
		}
		if version.RunID == rec.Spec.ID {
			done.To = version
			break
		}
	}
	done.SerialKept = done.To.Encrypted
	return writeJSON(w, done)
}

func (h *Handler) version(ctx context.Context, obj *infrav1.Terraform, id string) (state.Version, error) {
	if obj.KeepsOwnState() {
		return state.Version{}, badRequest(fmt.Sprintf("%s/%s keeps its state in a custom backend, and Yuba stores no versions of it: "+
			"use the backend's own versions", obj.Namespace, obj.Name))
	}
	version, _, err := h.States.ReadVersion(ctx, keyOf(obj), id)
	return version, err
}

// shell starts a run for the person's own process, and answers with what that process needs.
func (h *Handler) shell(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Grant == nil {
		return &run.RefusedError{Forbidden: true, Message: cmp.Or(h.NoShell, "this server does not open shells")}
	}
	rec, err := h.operate(r, obj, run.Request{Operation: run.OperationShell})
	if err != nil {
		return err
	}
	return writeJSON(w, h.Grant(rec))
}
