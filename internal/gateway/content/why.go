// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// why explains the decision about a stack. It is computed on request, and changes nothing.
func (h *Handler) why(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	why, err := h.Why(r.Context(), types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name})
	if err != nil {
		return err
	}
	return writeJSON(w, why)
}

// Why explains the current decision about a stack.
func (c *Client) Why(ctx context.Context, namespace, name string) (run.Why, error) {
	var why run.Why
	return why, c.readJSON(ctx, http.MethodGet, stackPath(namespace, name, "why"), nil, &why)
}
