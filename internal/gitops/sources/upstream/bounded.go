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
		exceeded := &archive.LimitError{What: "the size of a response in bytes", Limit: b.limit}
		response.Body = struct {
			io.Reader
			io.Closer
		}{&LimitedReader{R: response.Body, Left: b.limit, Exceeded: exceeded}, response.Body}
	}
	return response, nil
}

// LimitedReader fails with Exceeded if there are more than Left bytes.
type LimitedReader struct {
	R        io.Reader
	Left     int64
	Exceeded error
}

func (l *LimitedReader) Read(p []byte) (int, error) {
	if l.Left < 0 {
		return 0, l.Exceeded
	}
	n, err := l.R.Read(p[:min(int64(len(p)), l.Left+1)])
	if l.Left -= int64(n); l.Left < 0 {
		return n, l.Exceeded
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
