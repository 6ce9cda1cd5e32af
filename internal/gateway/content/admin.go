// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"net/http"
)

func (h *Handler) backup(w http.ResponseWriter, r *http.Request) error {
	if h.Backup == nil {
		return notFound("this server does not have a data directory of its own to back up")
	}
	w.Header().Set("Content-Type", "application/x-tar")
	if err := h.Backup(r.Context(), w); err != nil {
		h.Log.Error("backup", "error", err)
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	h.Log.Info("backup taken", "by", user(r))
	return nil
}

func (h *Handler) restore(w http.ResponseWriter, r *http.Request) error {
	if h.Restore == nil {
		return notFound("this server does not have a data directory of its own to restore")
	}
	if err := h.Restore(r.Context(), r.Body); err != nil {
		return badRequest(err.Error())
	}
	h.Log.Info("restore staged", "by", user(r))
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (h *Handler) server(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, h.Server(r.Context()))
}
