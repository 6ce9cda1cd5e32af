// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/yuba-dev/yuba/internal/registry/usage"
)

// UserList is the response of …/usage?of=QUERY: the stacks that use what the query names, in one
// namespace or in all.
type UserList struct {
	usage.Count
	Items List[usage.User] `json:"items"`
	// Incomplete is true while the server that has just started reads what it stored.
	Incomplete bool `json:"incomplete,omitempty"`
}

// OutdatedList is the response of …/outdated: uses of versions for which there are newer ones, or
// notices.
type OutdatedList struct {
	Items      List[usage.Outdated] `json:"items"`
	Incomplete bool                 `json:"incomplete,omitempty"`
}

// Usage knows who uses which version of modules and providers.
type Usage interface {
	// Users and Outdated answer for one namespace, or for all if it is empty.
	Users(ctx context.Context, query, namespace string) (UserList, error)
	Outdated(ctx context.Context, namespace string) (OutdatedList, error)
}

func (h *Handler) usersOf(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query().Get("of")
	if query == "" {
		return badRequest("who uses what: name the module or provider (of)")
	}
	if h.Usage == nil {
		return notFound("this server does not know who uses what")
	}
	list, err := h.Usage.Users(r.Context(), query, r.PathValue("namespace"))
	if err != nil {
		return badRequest(err.Error())
	}
	return writeJSON(w, list)
}

// countUsers counts the users of a module of the registry without naming them. The right to read the
// registry's namespace suffices. Other reads of the namespace go to the registry.
func (h *Handler) countUsers(w http.ResponseWriter, r *http.Request) error {
	of, registry := r.URL.Query().Get("users"), r.PathValue("registry")
	if of == "" {
		h.Registry.ServeHTTP(w, r)
		return nil
	}
	if h.Usage == nil {
		return notFound("this server does not know who uses what")
	}
	// Check the names: the right is for this namespace of the registry, not for other sources.
	query := registry + "/" + of
	q, err := usage.ParseQuery(query)
	if err != nil {
		return badRequest(err.Error())
	}
	if len(validation.IsDNS1123Label(strings.ToLower(registry))) > 0 || q.Kind != usage.Module {
		return badRequest("count who uses " + query + ": expected NAMESPACE/NAME/SYSTEM, a module of the registry")
	}
	list, err := h.Usage.Users(r.Context(), query, "")
	if err != nil {
		return badRequest(err.Error())
	}
	return writeJSON(w, UserList{Count: list.Count, Incomplete: list.Incomplete})
}

func (h *Handler) outdated(w http.ResponseWriter, r *http.Request) error {
	if h.Usage == nil {
		return notFound("this server does not know who uses what")
	}
	list, err := h.Usage.Outdated(r.Context(), r.PathValue("namespace"))
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

// Users returns the users of a module or provider; an empty namespace means all.
func (c *Client) Users(ctx context.Context, query, namespace string) (UserList, error) {
	return ask[UserList](ctx, c, http.MethodGet, namespacedPath(namespace, "usage"), url.Values{"of": {query}}, nil)
}

// CountUsers counts the users of a module of the registry (NAMESPACE/NAME/SYSTEM, with an optional
// range), in all namespaces. It needs only the right to read the module.
func (c *Client) CountUsers(ctx context.Context, query string) (UserList, error) {
	registry, of, _ := strings.Cut(query, "/")
	return ask[UserList](ctx, c, http.MethodGet, PathPrefix+"/modules/"+url.PathEscape(registry), url.Values{"users": {of}}, nil)
}

// Outdated returns the outdated uses of modules and providers; an empty namespace means all.
func (c *Client) Outdated(ctx context.Context, namespace string) (OutdatedList, error) {
	return ask[OutdatedList](ctx, c, http.MethodGet, namespacedPath(namespace, "outdated"), nil, nil)
}

// namespacedPath is the path of a resource in one namespace, or in all.
func namespacedPath(namespace, resource string) string {
	if namespace == "" {
		return PathPrefix + "/" + resource
	}
	return PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/" + resource
}
