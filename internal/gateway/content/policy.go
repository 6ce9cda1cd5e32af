// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/caller"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
)

// AuditLog is the source of the records of what policies decided.
type AuditLog interface {
	// Chain reads the records of one stack; none is an empty chain.
	Chain(ctx context.Context, namespace, stack string) (audit.Chain, error)
	// Page reads the records of a stack, whether it exists or not, of a namespace or of all stacks,
	// after the place at which another page ended.
	Page(ctx context.Context, namespace, stack, after string, limit int) (ledger.Page, error)
}

// AuditList is the response of /audit.
type AuditList struct {
	Chains []audit.Chain `json:"chains"`
	// Continue is the parameter after of the request for the next page; empty for the last one. A chain
	// can go on there.
	Continue string `json:"continue,omitempty"`
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

// auditLog serves a page of the records of one stack, of a namespace or of all.
func (h *Handler) auditLog(w http.ResponseWriter, r *http.Request) error {
	if h.AuditLog == nil {
		return notFound("this server has no audit log of policies")
	}
	query, namespace, limit := r.URL.Query(), r.PathValue("namespace"), 0
	stack, after := query.Get("stack"), query.Get("after")
	if stack != "" && namespace == "" {
		return badRequest("name the namespace of the stack")
	}
	if text := query.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return badRequest("the limit of records must be a number above 0")
		}
	}
	page, err := h.AuditLog.Page(r.Context(), namespace, stack, after, limit)
	if err != nil {
		return err
	}
	list := AuditList{Chains: page.Chains, Continue: page.Next}
	switch {
	case stack != "" && after == "" && len(list.Chains) == 0:
		list.Chains = []audit.Chain{{Namespace: namespace, Stack: stack}}
	case list.Chains == nil:
		list.Chains = []audit.Chain{}
	}
	return writeJSON(w, list)
}

// Approve approves a plan as the client's user, for policies. bound is what the person has seen:
// status.plan.policy.bound.
func (c *Client) Approve(ctx context.Context, namespace, name, plan, bound string) (infrav1.PlanApproval, error) {
	return ask[infrav1.PlanApproval](ctx, c, http.MethodPost, stackPath(namespace, name, "approve"), parameters("plan", plan, "bound", bound), nil)
}

// AuditPage returns a page of the records of what policies decided: of a stack, a namespace or all,
// after the place that another page names in Continue. A limit of 0 is the server's.
func (c *Client) AuditPage(ctx context.Context, namespace, stack, after string, limit int) (AuditList, error) {
	path := PathPrefix + "/audit"
	if namespace != "" {
		path = PathPrefix + "/namespaces/" + namespace + "/audit"
	}
	most := ""
	if limit > 0 {
		most = strconv.Itoa(limit)
	}
	return ask[AuditList](ctx, c, http.MethodGet, path, parameters("stack", stack, "after", after, "limit", most), nil)
}

// Audit returns all of these records, with whole chains.
func (c *Client) Audit(ctx context.Context, namespace, stack string) (AuditList, error) {
	all := AuditList{Chains: []audit.Chain{}}
	for after := ""; ; {
		page, err := c.AuditPage(ctx, namespace, stack, after, 0)
		if err != nil {
			return AuditList{}, err
		}
		all.add(page.Chains)
		if after = page.Continue; after == "" {
			return all, nil
		}
	}
}

func (l *AuditList) add(chains []audit.Chain) {
	for _, c := range chains {
		if n := len(l.Chains); n > 0 && l.Chains[n-1].Namespace == c.Namespace && l.Chains[n-1].Stack == c.Stack {
			l.Chains[n-1].Items = append(l.Chains[n-1].Items, c.Items...)
			continue
		}
		l.Chains = append(l.Chains, c)
	}
}
