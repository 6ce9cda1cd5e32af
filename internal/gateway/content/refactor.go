// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// Refactorings change the states of several stacks of a namespace as one operation.
type Refactorings interface {
	Propose(ctx context.Context, namespace, by string, stacks []reshape.Stack, steps []moves.Step) (*reshape.Record, error)
	ProposeUndo(ctx context.Context, namespace, id, by string, stacks []reshape.Stack) (*reshape.Record, error)
	Apply(ctx context.Context, namespace, id string, a reshape.Approval) (*reshape.Record, error)
	Previews(ctx context.Context, r *reshape.Record) (map[string]reshape.Preview, error)
	Get(ctx context.Context, namespace, id string) (*reshape.Record, error)
	// List also says which records it skipped, and why.
	List(ctx context.Context, namespace string) (records []*reshape.Record, skipped []string, err error)
}

// Refactoring asks for a proposal: the steps, or the id of the refactoring to undo.
type Refactoring struct {
	Steps []moves.Step `json:"steps,omitempty"`
	Undo  string       `json:"undo,omitempty"`
}

// Acceptance says what a request to apply a refactoring is based on.
type Acceptance struct {
	// Plans are the digests of the changes in the previews that were accepted, by stack.
	Plans map[string]string `json:"plans,omitempty"`
	// Unpreviewed applies the refactoring whatever was previewed, if all of its stacks are suspended.
	Unpreviewed bool `json:"unpreviewed,omitempty"`
}

// RefactoringList is the response of …/refactorings, newest first, without steps and moved instances.
type RefactoringList struct {
	Items []*reshape.Record `json:"items"`
	// Skipped says which refactorings are missing, because their records are damaged or cannot be read.
	Skipped []string `json:"skipped,omitempty"`
}

const (
	// maxRefactoring limits a request, maxMembers the stacks that it names.
	maxRefactoring = 32 << 20
	maxMembers     = 200
	// maxAcceptance limits a request to apply one: a digest for each stack.
	maxAcceptance = 1 << 20
)

var errNoRefactorings = notFound("this server does not refactor states")

func (h *Handler) refactorings(w http.ResponseWriter, r *http.Request) error {
	if h.Refactorings == nil {
		return errNoRefactorings
	}
	list, skipped, err := h.Refactorings.List(r.Context(), r.PathValue("namespace"))
	if err != nil {
		return err
	}
	return writeJSON(w, RefactoringList{Items: list, Skipped: skipped})
}

func (h *Handler) refactoring(w http.ResponseWriter, r *http.Request) error {
	if h.Refactorings == nil {
		return errNoRefactorings
	}
	record, err := h.Refactorings.Get(r.Context(), r.PathValue("namespace"), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, record)
}

// proposeRefactoring computes the states after a refactoring. It changes nothing.
func (h *Handler) proposeRefactoring(w http.ResponseWriter, r *http.Request) error {
	if h.Refactorings == nil {
		return errNoRefactorings
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRefactoring))
	if err != nil {
		return err
	}
	var request Refactoring
	if err := json.Unmarshal(text, &request); err != nil {
		return badRequest("the refactoring is not valid JSON")
	}
	namespace := r.PathValue("namespace")
	var record *reshape.Record
	if request.Undo != "" {
		record, err = h.proposeUndo(r, namespace, request.Undo)
	} else {
		record, err = h.propose(r, namespace, request.Steps)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, record)
}

func (h *Handler) propose(r *http.Request, namespace string, steps []moves.Step) (*reshape.Record, error) {
	var names []string
	gaining := map[string]bool{}
	for _, s := range steps {
		names = append(names, s.State, s.ToState)
		gaining[s.ToState] = gaining[s.ToState] || s.ToState != s.State
	}
	stacks, err := h.members(r.Context(), namespace, names, gaining)
	if err != nil {
		return nil, err
	}
	return h.Refactorings.Propose(r.Context(), namespace, user(r), stacks, steps)
}

func (h *Handler) proposeUndo(r *http.Request, namespace, id string) (*reshape.Record, error) {
	done, err := h.Refactorings.Get(r.Context(), namespace, id)
	if err != nil {
		return nil, err
	}
	stacks, err := h.members(r.Context(), namespace, done.Stacks(), done.Losing())
	if err != nil {
		return nil, err
	}
	return h.Refactorings.ProposeUndo(r.Context(), namespace, id, user(r), stacks)
}

// members are stacks whose states can be changed now. Resources move into the gaining ones.
func (h *Handler) members(ctx context.Context, namespace string, names []string, gaining map[string]bool) (stacks []reshape.Stack, err error) {
	seen, secrets := map[string]bool{"": true}, map[string]string{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		if seen[name] = true; len(seen) > maxMembers {
			return nil, badRequest(fmt.Sprintf("a refactoring changes at most %d states", maxMembers))
		}
		var obj infrav1.Terraform
		err := h.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &obj)
		if apierrors.IsNotFound(err) {
			return nil, notFound(fmt.Sprintf("the stack %s/%s does not exist. Create it first, suspended, so that it does not create anything:\n    yuba create stack %s -n %s --suspend", namespace, name, name, namespace))
		}
		if err != nil {
			return nil, err
		}
		if err := mayReshape(&obj, gaining[name]); err != nil {
			return nil, err
		}
		key := keyOf(&obj)
		if other := secrets[key.SecretName()]; other != "" {
			return nil, badRequest(fmt.Sprintf("the stacks %s and %s of %s share one state: name one of them", other, name, namespace))
		}
		secrets[key.SecretName()] = name
		key.UID = string(obj.UID)
		stacks = append(stacks, reshape.Stack{Key: key, Labels: stateLabels(&obj), Existing: obj.Status.LastAppliedRevision != "",
			Program: ProgramOf(&obj), Suspended: obj.Spec.Suspend})
	}
	return stacks, nil
}

// ProgramOf identifies the program that a stack has.
func ProgramOf(obj *infrav1.Terraform) reshape.Program {
	return reshape.Program{Generation: obj.Generation, Revision: obj.Status.LastAttemptedRevision}
}

func stateLabels(obj *infrav1.Terraform) map[string]string {
	if obj.Spec.BackendConfig == nil {
		return nil
	}
	return obj.Spec.BackendConfig.Labels
}

// mayReshape says why the state of a stack cannot be changed. Resources that move out of a deleted stack are saved.
func mayReshape(obj *infrav1.Terraform, gains bool) error {
	stack := run.StackOf(obj)
	if gains && !obj.DeletionTimestamp.IsZero() {
		fate := "forget"
		if obj.Spec.DestroyResourcesOnDeletion {
			fate = "destroy"
		}
		return &run.RefusedError{Message: fmt.Sprintf("refactor %s: it is being deleted, and would %s what is moved there. Nothing was changed. Name another stack, or wait until it is gone and create it again",
			stack, fate)}
	}
	if obj.KeepsOwnState() {
		return &run.RefusedError{Message: fmt.Sprintf("refactor %s: it keeps its state in a custom backend, which Yuba cannot write together with other states. "+
			"Move the resources there with tofu itself:\n    yuba shell %s -- tofu state mv FROM TO", stack, stack)}
	}
	if where, known := obj.StateLocation(); known && where != infrav1.ManagedLocation {
		return &run.RefusedError{Message: fmt.Sprintf("refactor %s: its state is at %s, although the spec names Yuba's own store, whose copy may be outdated. Move the state first:\n"+
			"    yuba state migrate %s -n %s", stack, where, obj.Name, obj.Namespace)}
	}
	if held := moving.Held(obj); held != "" {
		return &run.RefusedError{Message: fmt.Sprintf("refactor %s: %s", stack, held)}
	}
	return nil
}

// applyRefactoring writes the states of a proposal.
func (h *Handler) applyRefactoring(w http.ResponseWriter, r *http.Request) error {
	if h.Refactorings == nil {
		return errNoRefactorings
	}
	namespace, id := r.PathValue("namespace"), r.PathValue("id")
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAcceptance))
	if err != nil {
		return err
	}
	var accepted Acceptance
	if len(text) > 0 && json.Unmarshal(text, &accepted) != nil {
		return badRequest("the accepted previews are not valid JSON")
	}
	judge := func(ctx context.Context, proposal *reshape.Record) error { return h.mayApply(ctx, proposal, accepted) }
	record, err := h.Refactorings.Apply(r.Context(), namespace, id, reshape.Approval{By: user(r), Unpreviewed: accepted.Unpreviewed, Judge: judge})
	if err != nil {
		return err
	}
	h.Log.Info("refactoring applied", "namespace", namespace, "refactoring", id, "stacks", record.Stacks(), "unpreviewed", accepted.Unpreviewed, "by", user(r))
	return writeJSON(w, record)
}

// mayApply refuses a proposal if a stack of it is another one now, has another program, executes a run, or
// was not previewed.
func (h *Handler) mayApply(ctx context.Context, proposal *reshape.Record, accepted Acceptance) error {
	gaining, err := h.gaining(ctx, proposal)
	if err != nil {
		return err
	}
	stacks, err := h.members(ctx, proposal.Namespace, proposal.Stacks(), gaining)
	if err != nil {
		return err
	}
	for _, s := range stacks {
		m, ok := proposal.Member(s.Key.Stack)
		if !ok || m.UID != s.Key.UID || m.Suffix != s.Key.Suffix || m.Workspace != s.Key.Workspace {
			return &run.RefusedError{Message: fmt.Sprintf("apply the refactoring %s: the stack %s was created again, or has another state now. Preview it again", proposal.ID, s.Key)}
		}
		if m.Program != s.Program {
			return &run.RefusedError{Message: fmt.Sprintf("apply the refactoring %s: the specification or the source revision of %s has changed since the preview, so its plan says nothing about the next run. Nothing was changed. Preview it again", proposal.ID, s.Key)}
		}
		stack := run.Stack{Namespace: s.Key.Namespace, Name: s.Key.Stack, UID: s.Key.UID}
		if rec, _, ok := h.Runs.InHand(stack); ok && rec.Result == nil && rec.Spec.Operation != run.OperationPlan {
			return &run.RefusedError{Message: fmt.Sprintf("apply the refactoring %s: run %s (%s) of %s is in progress. Nothing was changed. Wait for it:\n    yuba logs %s -f", proposal.ID, rec.Spec.ID, rec.Spec.Title(), s.Key, s.Key)}
		}
	}
	if accepted.Unpreviewed {
		return allSuspended(proposal, stacks)
	}
	previews, err := h.Refactorings.Previews(ctx, proposal)
	if err != nil {
		return err
	}
	return proposal.Judge(stacks, previews, accepted.Plans)
}

// gaining are the stacks that get resources by a proposal. That of an undo does not list what was removed, and comes back.
func (h *Handler) gaining(ctx context.Context, proposal *reshape.Record) (map[string]bool, error) {
	if proposal.Undoes == "" {
		return proposal.Gaining(), nil
	}
	done, err := h.Refactorings.Get(ctx, proposal.Namespace, proposal.Undoes)
	if err != nil {
		return nil, err
	}
	return done.Losing(), nil
}

// allSuspended refuses a proposal without previews if a stack of it can run: with its old program, its next run would
// undo the moves, and destroy what it does not know.
func allSuspended(proposal *reshape.Record, stacks []reshape.Stack) error {
	var running []string
	for _, s := range stacks {
		if !s.Suspended {
			running = append(running, s.Key.Stack)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return &run.RefusedError{Message: fmt.Sprintf("apply the refactoring %s without a preview: %s can run, and would undo the moves with an old program. Nothing was changed. Suspend the stacks, and apply it again:\n    yuba suspend %s -n %s",
		proposal.ID, strings.Join(running, ", "), strings.Join(running, " "), proposal.Namespace)}
}

func refactoringPath(namespace, rest string) string {
	return PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/refactorings" + rest
}

// Refactorings returns the refactorings of a namespace, newest first.
func (c *Client) Refactorings(ctx context.Context, namespace string) (RefactoringList, error) {
	return ask[RefactoringList](ctx, c, http.MethodGet, refactoringPath(namespace, ""), nil, nil)
}

// Refactoring returns one refactoring.
func (c *Client) Refactoring(ctx context.Context, namespace, id string) (reshape.Record, error) {
	return ask[reshape.Record](ctx, c, http.MethodGet, refactoringPath(namespace, "/"+url.PathEscape(id)), nil, nil)
}

// ProposeRefactoring computes the states after a refactoring. It changes nothing.
func (c *Client) ProposeRefactoring(ctx context.Context, namespace string, r Refactoring) (reshape.Record, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return reshape.Record{}, err
	}
	return ask[reshape.Record](ctx, c, http.MethodPost, refactoringPath(namespace, ""), nil, bytes.NewReader(text))
}

// ApplyRefactoring writes the states of a proposal.
func (c *Client) ApplyRefactoring(ctx context.Context, namespace, id string, accepted Acceptance) (reshape.Record, error) {
	text, err := json.Marshal(accepted)
	if err != nil {
		return reshape.Record{}, err
	}
	return ask[reshape.Record](ctx, c, http.MethodPost, refactoringPath(namespace, "/"+url.PathEscape(id)+"/apply"), nil, bytes.NewReader(text))
}
