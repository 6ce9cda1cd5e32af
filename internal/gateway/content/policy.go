// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"iter"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/caller"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

// AuditLog is the source of the records of what policies decided.
type AuditLog interface {
	// Chain reads the records of a stack, whether it exists or not; none is an empty chain.
	Chain(ctx context.Context, namespace, stack string) (audit.Chain, error)
	// Stacks lists the stacks with records, of a namespace or of all, as namespace and name.
	Stacks(ctx context.Context, namespace string) iter.Seq2[[2]string, error]
}

// AuditList is the response of /audit.
type AuditList struct {
	Chains []audit.Chain `json:"chains"`
}

// approve records an approval of the pending plan by the user that the API server has authenticated.
func (h *Handler) approve(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Approve == nil {
		return notFound("policies judge no plans on this server. Name the plan in spec.approvePlan")
	}
	info, ok := request.UserFrom(r.Context())
	if !ok || info.GetName() == "" {
		return apierrors.NewUnauthorized("approve: the API server did not say who you are")
	}
	who := audit.Who{User: info.GetName(), Groups: info.GetGroups(), Impersonator: caller.Impersonator(r.Context()), Address: from(r)}
	query := r.URL.Query()
	given, err := h.Approve(r.Context(), client.ObjectKeyFromObject(obj), who, query.Get("plan"), query.Get("bound"))
	if err != nil {
		return err
	}
	h.Log.Info("plan approved", "stack", client.ObjectKeyFromObject(obj).String(), "plan", query.Get("plan"), "by", who.User, "impersonator", who.Impersonator)
	return writeJSON(w, given)
}

// from is the address of the client. A proxy's client is what the proxy says.
func from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	const limit = 256
	if by := strings.Join(r.Header.Values("X-Forwarded-For"), ", "); by != "" {
		host += " (forwarded for " + by[:min(len(by), limit)] + ")"
	}
	return host
}

// auditLog serves the records of one stack, of a namespace or of all.
func (h *Handler) auditLog(w http.ResponseWriter, r *http.Request) error {
	if h.AuditLog == nil {
		return notFound("this server has no audit log of policies")
	}
	ctx, namespace, stack := r.Context(), r.PathValue("namespace"), r.URL.Query().Get("stack")
	list := AuditList{Chains: []audit.Chain{}}
	if stack != "" {
		if namespace == "" {
			return badRequest("name the namespace of the stack")
		}
		chain, err := h.AuditLog.Chain(ctx, namespace, stack)
		if err != nil {
			return err
		}
		list.Chains = append(list.Chains, chain)
		return writeJSON(w, list)
	}
	for name, err := range h.AuditLog.Stacks(ctx, namespace) {
		if err != nil {
			return err
		}
		chain, err := h.AuditLog.Chain(ctx, name[0], name[1])
		if err != nil {
			return err
		}
		list.Chains = append(list.Chains, chain)
	}
	return writeJSON(w, list)
}

// Approve approves a plan as the client's user, for policies. bound is what the person has seen:
// status.plan.policy.bound.
func (c *Client) Approve(ctx context.Context, namespace, name, plan, bound string) (infrav1.PlanApproval, error) {
	return ask[infrav1.PlanApproval](ctx, c, http.MethodPost, stackPath(namespace, name, "approve"), parameters("plan", plan, "bound", bound), nil)
}

// Audit returns the records of what policies decided: of a stack, a namespace or all.
func (c *Client) Audit(ctx context.Context, namespace, stack string) (AuditList, error) {
	path := PathPrefix + "/audit"
	if namespace != "" {
		path = PathPrefix + "/namespaces/" + namespace + "/audit"
	}
	return ask[AuditList](ctx, c, http.MethodGet, path, parameters("stack", stack), nil)
}
