// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/own"
)

// problemError is an error with the status to answer.
type problemError struct {
	status  int
	message string
}

func (e *problemError) Error() string { return e.message }

func problem(status int, message string) error { return &problemError{status, message} }

// statusOf returns the status that an error means; 500 for an unexpected one.
func statusOf(err error) int {
	var (
		known        *problemError
		conflict     *catalog.ConflictError
		incompatible *catalog.IncompatibleError
		invalid      *inspect.Error
		unfit        *own.InvalidError
		taken        *own.ConflictError
		tooLarge     *http.MaxBytesError
		oversize     *blob.TooLargeError
	)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.Is(err, catalog.ErrNone), errors.Is(err, offer.ErrNone), errors.Is(err, blob.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, offer.ErrLoop):
		return http.StatusLoopDetected
	case errors.Is(err, offer.ErrRefused):
		return http.StatusForbidden
	case errors.Is(err, offer.ErrUpstream):
		return http.StatusBadGateway
	case errors.As(err, &conflict), errors.As(err, &taken), errors.Is(err, blob.ErrExists):
		return http.StatusConflict
	case errors.As(err, &incompatible), errors.As(err, &invalid), errors.As(err, &unfit):
		return http.StatusUnprocessableEntity
	case errors.As(err, &tooLarge), errors.As(err, &oversize):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// fail answers with the error in the form of registries. Details of unexpected errors are only
// logged.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client is gone
	}
	status, message := statusOf(err), err.Error()
	switch status {
	case http.StatusInternalServerError:
		s.opts.Log.Error("answering failed", "request", r.Method+" "+redactedPath(r), "error", err)
		message = "the registry could not answer; its log says why"
	case http.StatusBadGateway:
		s.opts.Log.Warn("another registry failed", "request", r.Method+" "+redactedPath(r), "error", err)
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body, _ := json.Marshal(map[string][]string{"errors": {message}}) //nolint:errchkjson // strings
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // the client is gone
}

// redactedPath is the request's path without a signature, which is as good as a token for a while.
func redactedPath(r *http.Request) string {
	if r.PathValue("signature") != "" {
		return r.Pattern + " " + r.PathValue("file")
	}
	return r.URL.Path
}
