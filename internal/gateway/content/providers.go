// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"net/url"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// ProviderList is the response of /providers: the content of the provider stores, by address and
// version.
type ProviderList struct {
	Items []run.StoredProvider `json:"items"`
}

func (h *Handler) providers(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Providers(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

// removeProvider removes packages from the provider stores and responds with what it removed.
func (h *Handler) removeProvider(w http.ResponseWriter, r *http.Request) error {
	if h.RemoveProvider == nil {
		return notFound("this server does not store providers")
	}
	q := r.URL.Query()
	source, version, scope := q.Get("source"), q.Get("version"), q.Get("scope")
	if source == "" || version == "" {
		return badRequest("remove a provider: name the provider (source) and its version (version)")
	}
	list, err := h.RemoveProvider(r.Context(), source, version, scope)
	if err != nil {
		return err
	}
	h.Log.Info("removed providers from the store", "by", user(r), "source", source, "version", version, "packages", len(list.Items))
	return writeJSON(w, list)
}

// RemoveProvider removes a version of a provider from one scope or, if scope is empty, from all. It
// returns what it removed.
func (c *Client) RemoveProvider(ctx context.Context, source, version, scope string) (ProviderList, error) {
	query := url.Values{"source": {source}, "version": {version}}
	setUnlessEmpty(query, "scope", scope)
	var list ProviderList
	return list, c.readJSON(ctx, http.MethodDelete, PathPrefix+"/providers", query, &list)
}

// Providers returns the providers that are stored for all stacks.
func (c *Client) Providers(ctx context.Context) (ProviderList, error) {
	var list ProviderList
	return list, c.readJSON(ctx, http.MethodGet, PathPrefix+"/providers", nil, &list)
}
