// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
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

// Try is a speculative plan of a stack with another version of a module.
type Try struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	// Ended is true once the others below are set. Waits says what it waits for.
	Ended   bool        `json:"ended"`
	Waits   string      `json:"waits,omitempty"`
	Outcome run.Outcome `json:"outcome,omitempty"`
	Error   string      `json:"error,omitempty"`
	// Replaced counts the calls that got the other version. From are the versions that they had.
	Replaced int      `json:"replaced,omitempty"`
	From     []string `json:"from,omitempty"`
	// Counts and Changes are of the plan: each change in words, without values.
	Counts  run.Counts   `json:"counts"`
	Changes []string     `json:"changes,omitempty"`
	Took    run.Duration `json:"took,omitempty"`
}

// Usage knows who uses which version of modules and providers.
type Usage interface {
	// Users and Outdated answer for one namespace, or for all if it is empty.
	Users(ctx context.Context, query, namespace string) (UserList, error)
	Outdated(ctx context.Context, namespace string) (OutdatedList, error)
}

// Tries makes speculative plans. They end when nobody asks for them for a while.
type Tries interface {
	Start(ctx context.Context, obj *infrav1.Terraform, module, version, by string) (Try, error)
	// Wait returns when the plan has ended, or after a while.
	Wait(ctx context.Context, obj *infrav1.Terraform, id string) (Try, error)
	Cancel(ctx context.Context, obj *infrav1.Terraform, id string) error
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

func (h *Handler) startTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return notFound("this server does not make speculative plans")
	}
	query := r.URL.Query()
	t, err := h.Tries.Start(r.Context(), obj, query.Get("module"), query.Get("version"), user(r))
	if err != nil {
		return err
	}
	h.Log.Info("speculative plan started", "stack", client.ObjectKeyFromObject(obj).String(), "run", t.Run, "module", query.Get("module"), "version", query.Get("version"), "by", user(r))
	return writeJSON(w, t)
}

func (h *Handler) waitForTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return notFound("this server does not make speculative plans")
	}
	t, err := h.Tries.Wait(r.Context(), obj, r.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	return writeJSON(w, t)
}

func (h *Handler) cancelTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return notFound("this server does not make speculative plans")
	}
	if err := h.Tries.Cancel(r.Context(), obj, r.URL.Query().Get("run")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// TryWait is how long a request for a speculative plan waits for its end.
const TryWait = 20 * time.Second

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

// StartTry starts a speculative plan with another version of a module.
func (c *Client) StartTry(ctx context.Context, namespace, name, module, version string) (Try, error) {
	return ask[Try](ctx, c, http.MethodPost, stackPath(namespace, name, "try"), parameters("module", module, "version", version), nil)
}

// WaitForTry returns a speculative plan when it has ended, or after a while.
func (c *Client) WaitForTry(ctx context.Context, namespace, name, id string) (Try, error) {
	return ask[Try](ctx, c, http.MethodGet, stackPath(namespace, name, "try"), parameters("run", id), nil)
}

// CancelTry ends a speculative plan.
func (c *Client) CancelTry(ctx context.Context, namespace, name, id string) error {
	response, err := c.door.ask(ctx, http.MethodDelete, stackPath(namespace, name, "try"), parameters("run", id), nil)
	if err == nil {
		drop(response)
	}
	return err
}

// namespacedPath is the path of a resource in one namespace, or in all.
func namespacedPath(namespace, resource string) string {
	if namespace == "" {
		return PathPrefix + "/" + resource
	}
	return PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/" + resource
}
