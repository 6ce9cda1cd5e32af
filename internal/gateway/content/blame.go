// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state/blame"
)

// blame serves the versions that changed a value. It needs the right to read the state.
func (h *Handler) blame(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform, text string) error {
	if h.Blame == nil {
		return notFound("this server does not search the versions of states")
	}
	if obj.KeepsOwnState() {
		return badRequest(fmt.Sprintf("%s/%s keeps its state in a custom backend, and Yuba stores no versions of it", obj.Namespace, obj.Name))
	}
	target, err := blame.ParseTarget(text)
	if err != nil {
		return badRequest(err.Error())
	}
	all, _ := strconv.ParseBool(r.URL.Query().Get("all")) //nolint:errcheck // anything else means no
	answer, err := h.Blame(r.Context(), keyOf(obj), target, all)
	if err != nil {
		return err
	}
	return writeJSON(w, answer)
}

// Blame returns the versions of a state that changed a resource or an attribute: the last one, or all.
func (c *Client) Blame(ctx context.Context, namespace, name, target string, all bool) (blame.Answer, error) {
	return ask[blame.Answer](ctx, c, http.MethodGet, stackPath(namespace, name, "state"), parameters("blame", target, "all", yes(all)), nil)
}
