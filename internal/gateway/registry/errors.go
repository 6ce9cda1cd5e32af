// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/own"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// problemError is an error with the status to answer.
type problemError struct {
	status  int
	message string
	// code is that of RFC 6750 for a refused token; empty for other errors.
	code string
}

func (e *problemError) Error() string { return e.message }

func problem(status int, message string) error {
	return &problemError{status: status, message: message}
}

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
		busy         *uploads.BusyError
	)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &busy):
		return http.StatusTooManyRequests
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage
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

// retryAfter tells a client when to try again, and returns that in seconds; 0 for an error that another
// attempt does not change.
func retryAfter(w http.ResponseWriter, err error) int32 {
	var busy *uploads.BusyError
	if !errors.As(err, &busy) {
		return 0
	}
	seconds := max(1, int32(busy.Retry/time.Second)) //nolint:gosec // seconds
	w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	return seconds
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
	}
	challenge(w, err)
	body, _ := json.Marshal(map[string][]string{"errors": {message}}) //nolint:errchkjson // strings
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // the client is gone
}

// challenge says in the header of RFC 6750 why a token was refused, or that one is missing.
func challenge(w http.ResponseWriter, err error) {
	var known *problemError
	if !errors.As(err, &known) || known.status != http.StatusUnauthorized && known.code == "" {
		return
	}
	value := `Bearer realm="registry"`
	if known.code != "" {
		value += fmt.Sprintf(", error=%q", known.code)
	}
	w.Header().Set("WWW-Authenticate", value)
}

// redactedPath is the request's path without a signature, which is as good as a token for a while.
func redactedPath(r *http.Request) string {
	if r.PathValue("signature") != "" {
		return r.Pattern + " " + r.PathValue("file")
	}
	return r.URL.Path
}
