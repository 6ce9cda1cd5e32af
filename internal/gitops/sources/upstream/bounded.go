// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"io"
	"net/http"

	"github.com/yuba-dev/yuba/internal/archive"
)

// isContent marks the context of requests for content.
type isContent struct{}

// Content marks requests for content: their callers limit what they read.
func Content(ctx context.Context) context.Context { return context.WithValue(ctx, isContent{}, true) }

// Bounded limits every response but content: libraries read lists, tokens and errors completely.
func Bounded(inner http.RoundTripper, limit int64) http.RoundTripper { return bounded{inner, limit} }

type bounded struct {
	inner http.RoundTripper
	limit int64
}

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// Errors are not content.
	if request.Context().Value(isContent{}) == nil || response.StatusCode < 200 || response.StatusCode > 299 {
		response.Body = &limitedBody{response.Body, b.limit, b.limit}
	}
	return response, nil
}

type limitedBody struct {
	io.ReadCloser
	left, limit int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, &archive.LimitError{What: "the size of a response in bytes", Limit: l.limit}
	}
	return n, err
}

// ReadAll reads everything, and fails if that is more than limit bytes of what.
func ReadAll(r io.Reader, what string, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &archive.LimitError{What: what, Limit: limit}
	}
	return content, err
}
