// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/caller"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Applications knows which stacks are behind the instances of application kinds. Their users need no
// right to stacks: a kind's plural has the subresources plan, why and approve of its own.
type Applications interface {
	// Stack is the stack of an instance. It returns an error that apierrors.IsNotFound recognises if
	// there is no such kind, instance or stack, or if the stack of that name is not the instance's.
	Stack(ctx context.Context, instance Instance) (*infrav1.Terraform, error)
	// Approve approves the pending plan of an instance.
	Approve(ctx context.Context, instance Instance, who audit.Who, plan, comment string) error
}

// Instance names an instance by the plural name of its kind. Part is the id of one of several stacks;
// empty for the one whose plan waits, or the first.
type Instance struct{ Resource, Namespace, Name, Part string }

func (i Instance) path(subresource string) string {
	return PathPrefix + "/namespaces/" + url.PathEscape(i.Namespace) + "/" + url.PathEscape(i.Resource) + "/" + url.PathEscape(i.Name) + "/" + subresource
}

// instance passes the stack of the instance in the path to a handler.
func (h *Handler) instance(serve func(http.ResponseWriter, *http.Request, *infrav1.Terraform) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if h.Applications == nil {
			return notFound("this server does not serve application kinds")
		}
		obj, err := h.Applications.Stack(r.Context(), instanceIn(r))
		if err != nil {
			return err
		}
		return serve(w, r, obj)
	}
}

func instanceIn(r *http.Request) Instance {
	return Instance{r.PathValue("resource"), r.PathValue("namespace"), r.PathValue("name"), r.URL.Query().Get("part")}
}

// approveInstance approves the plan of an instance by its id, as the user that the API server has
// authenticated.
func (h *Handler) approveInstance(w http.ResponseWriter, r *http.Request) error {
	if h.Applications == nil {
		return notFound("this server does not serve application kinds")
	}
	info, ok := request.UserFrom(r.Context())
	if !ok || info.GetName() == "" {
		return apierrors.NewUnauthorized("approve: the API server did not say who you are")
	}
	who := audit.Who{User: info.GetName(), Groups: info.GetGroups(), Impersonator: caller.Impersonator(r.Context()), Address: from(r)}
	plan, comment, i := r.URL.Query().Get("plan"), strings.TrimSpace(r.URL.Query().Get("comment")), instanceIn(r)
	switch {
	case plan == "":
		return badRequest("approve: name the plan (plan=ID), so that you approve the one that you have seen")
	case len(comment) > maxComment || !utf8.ValidString(comment):
		return badRequest(fmt.Sprintf("approve: the comment is longer than %d bytes, or not text", maxComment))
	}
	if err := h.Applications.Approve(r.Context(), i, who, plan, comment); err != nil {
		return err
	}
	h.Log.Info("plan approved", "kind", i.Resource, "instance", i.Namespace+"/"+i.Name, "plan", plan, "by", who.User, "impersonator", who.Impersonator)
	return writeJSON(w, map[string]string{"plan": plan})
}

// ApproveInstance approves the pending plan of an instance as the client's user.
func (c *Client) ApproveInstance(ctx context.Context, i Instance, plan, comment string) error {
	_, err := ask[map[string]string](ctx, c, http.MethodPost, i.path("approve"), parameters("plan", plan, "comment", comment), nil)
	return err
}

// InstancePlan returns the last plan of an instance, in the format of [Client.Plan].
func (c *Client) InstancePlan(ctx context.Context, i Instance) ([]byte, error) {
	return c.read(ctx, i.path("plan"), parameters("part", i.Part))
}

// InstanceWhy returns the current decision about the stack of an instance.
func (c *Client) InstanceWhy(ctx context.Context, i Instance) (run.Why, error) {
	return ask[run.Why](ctx, c, http.MethodGet, i.path("why"), parameters("part", i.Part), nil)
}
