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

// Content marks requests whose answers are content: who reads them knows how large they may be.
func Content(ctx context.Context) context.Context { return context.WithValue(ctx, isContent{}, true) }

// Bounded limits what is read of every answer but content: lists, tokens, errors, which libraries
// read to their end.
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
	// Errors are no content, whatever was asked for.
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
		return 0, &archive.LimitError{What: "the size of an answer in bytes", Limit: l.limit}
	}
	return n, err
}
