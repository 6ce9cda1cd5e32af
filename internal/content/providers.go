// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"

	"github.com/yuba-dev/yuba/internal/run"
)

// ProviderList is the answer of /providers: what the stores of providers have, by address and version.
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

// Providers says which providers are stored for all stacks.
func (c *Client) Providers(ctx context.Context) (ProviderList, error) {
	var list ProviderList
	return list, c.readJSON(ctx, http.MethodGet, PathPrefix+"/providers", nil, &list)
}
