// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ContractValue is a published value of a contract, or a part of it.
type ContractValue struct {
	// Value is a string as it is, and everything else as JSON.
	Value    string `json:"value"`
	Version  string `json:"version"`
	Revision int64  `json:"revision"`
	Digest   string `json:"digest"`
}

// Invalid is an error of the request.
func Invalid(message string) error {
	return &refusal{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message}
}

// NotFound says that something does not exist.
func NotFound(message string) error { return notFound(message) }

// contract serves a value that a stack, or the bridge of this name, has published. With the query
// "property" as External Secrets writes it, the contract's name is the first part of the path:
// base.database.host.
func (h *Handler) contract(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	name, path := q.Get("contract"), q.Get("property")
	if name == "" {
		if i := strings.IndexAny(path, ".["); i >= 0 {
			name, path = path[:i], strings.TrimPrefix(path[i:], ".")
		} else {
			name, path = path, ""
		}
	}
	if name == "" {
		return Invalid("the query has neither contract=NAME nor property=NAME.PATH")
	}
	if h.Contract == nil {
		return notFound("this server does not know contracts")
	}
	stack := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	value, err := h.Contract(r.Context(), stack, name, q.Get("version"), path)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, value)
}
