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

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// What a policy, or no policy, makes of a plan.
const (
	// TrialApplies: the plan is applied without a person.
	TrialApplies = "applies"
	// TrialWaits: the plan waits for a person.
	TrialWaits = "waits"
	// TrialRefused: nobody can apply the plan.
	TrialRefused = "refused"
	// TrialNever: the stack applies no plans.
	TrialNever = "never applied"
)

// How a policy would change what happens to a plan.
const (
	TrialStopped = "stopped"
	TrialFreed   = "freed"
	TrialSame    = "same"
	// TrialUnknown: there is no plan to judge.
	TrialUnknown = "unknown"
)

// PolicyTrial is a part of the response of …/policytrials, in the order of the names of the stacks.
type PolicyTrial struct {
	Items List[TriedStack] `json:"items"`
	// Continue asks for the next part; empty after the last one.
	Continue string `json:"continue,omitempty"`
	// Passed counts the stacks in this part that the policy does not concern.
	Passed int `json:"passed"`
}

// TriedStack is a stack that a policy concerns, with its last stored plan.
type TriedStack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Run is the run that made the plan, and Pending is true if the plan waits for its apply.
	Run     string `json:"run,omitempty"`
	Pending bool   `json:"pending,omitempty"`
	// Now and Then are what happens to the plan without the policy, and with it.
	Now    string `json:"now,omitempty"`
	Then   string `json:"then,omitempty"`
	Effect string `json:"effect"`
	// Unused is true if the policies would free the plan, and the stack does not ask for that with
	// approvePlan "policy".
	Unused bool `json:"unused,omitempty"`
	// Message says why, for people.
	Message string `json:"message,omitempty"`
	// Findings are those of the tried policy, the most severe first. Omitted counts those beyond the
	// limit.
	Findings []infrav1.PolicyFinding `json:"findings,omitempty"`
	Omitted  int                     `json:"omitted,omitempty"`
	// Exempted counts the findings that exemptions take out.
	Exempted int `json:"exempted,omitempty"`
}

// Policies judges plans. Sensitive values are in none of its answers.
type Policies interface {
	// Try judges the last plans of the stacks of a namespace, or of all, by a policy in YAML that is not
	// applied. It begins behind a stack, and stops after a while.
	Try(ctx context.Context, policy []byte, namespace, after string) (PolicyTrial, error)
	// Facts are what policies see of a plan of the stack: of a run, else of the pending plan or the last
	// one that is stored.
	Facts(ctx context.Context, obj *infrav1.Terraform, id string) (any, error)
	// Verdict judges the same plan by the policies that bind the stack.
	Verdict(ctx context.Context, obj *infrav1.Terraform, id string) (any, error)
}

// maxPolicy limits a policy that is tried; the API server limits objects to about the same.
const maxPolicy = 1 << 20

func (h *Handler) tryPolicy(w http.ResponseWriter, r *http.Request) error {
	if h.Policies == nil {
		return noPolicies()
	}
	policy, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPolicy))
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	trial, err := h.Policies.Try(r.Context(), policy, r.PathValue("namespace"), r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	return writeJSON(w, trial)
}

func (h *Handler) facts(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Policies == nil {
		return noPolicies()
	}
	document, err := h.Policies.Facts(r.Context(), obj, r.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	return writeJSON(w, document)
}

func (h *Handler) verdict(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Policies == nil {
		return noPolicies()
	}
	verdict, err := h.Policies.Verdict(r.Context(), obj, r.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	return writeJSON(w, verdict)
}

func noPolicies() error { return notFound("this server does not judge plans by policies") }

// BadRequest is an error that the caller of the API can mend.
func BadRequest(err error) error { return badRequest(err.Error()) }

// NotFound is an error about something that the caller of the API named and that does not exist.
func NotFound(err error) error { return notFound(err.Error()) }

// TryPolicy judges the last plans of a namespace, or of all, by a policy in YAML; more is called with
// each part of the answer.
func (c *Client) TryPolicy(ctx context.Context, namespace string, policy []byte, more func(PolicyTrial) error) error {
	path := PathPrefix
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	for after := ""; ; {
		part, err := ask[PolicyTrial](ctx, c, http.MethodPost, path+"/policytrials", parameters("after", after), bytes.NewReader(policy))
		if err != nil {
			return err
		}
		if err := more(part); err != nil {
			return err
		}
		if after = part.Continue; after == "" {
			return nil
		}
	}
}

// Facts returns what policies see of a plan of a stack; without a run's id of the pending plan, else
// of the last one.
func (c *Client) Facts(ctx context.Context, namespace, name, runID string) (json.RawMessage, error) {
	return c.read(ctx, stackPath(namespace, name, "facts"), parameters("run", runID))
}

// Verdict returns what the policies that bind a stack make of that plan.
func (c *Client) Verdict(ctx context.Context, namespace, name, runID string) (json.RawMessage, error) {
	return c.read(ctx, stackPath(namespace, name, "verdict"), parameters("run", runID))
}
