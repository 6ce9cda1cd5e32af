// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/parcel"
)

// Export returns everything that the server's blob store has of a stack, see package parcel. It is
// complete only if it was read to the end without an error. It reads from the server in parts.
func (c *Client) Export(ctx context.Context, namespace, name string) (io.ReadCloser, error) {
	fetch := func(ctx context.Context, after string) (io.ReadCloser, error) {
		began := time.Now()
		body, err := c.open(ctx, http.MethodGet, stackPath(namespace, name, "export"), parameters("part", "true", "after", after), nil)
		return &timed{body, began}, hurried(err, began)
	}
	// An error of the first request, such as that the stack is missing, is this function's.
	first, err := fetch(ctx, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	content, all := io.Pipe()
	go func() {
		all.CloseWithError(parcel.Merge(ctx, all, func(ctx context.Context, after string) (io.ReadCloser, error) { //nolint:errcheck // it returns nil
			if after == "" {
				return first, nil
			}
			return fetch(ctx, after)
		}))
	}()
	return &exported{content, cancel}, nil
}

// exported ends the requests of an export when it is closed.
type exported struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (e *exported) Close() error {
	e.cancel()
	return e.PipeReader.Close()
}

// Import stores the exported content of a stack. It reads the content once, and sends it in parts.
func (c *Client) Import(ctx context.Context, namespace, name string, content io.Reader) (parcel.Summary, error) {
	return parcel.Split(ctx, content, parcel.PartSize, func(ctx context.Context, part io.ReadSeeker) (parcel.Summary, error) {
		began := time.Now()
		summary, err := ask[parcel.Summary](ctx, c, http.MethodPost, stackPath(namespace, name, "import"), nil, part)
		return summary, hurried(err, began)
	})
}

// hurry is a bit less than the minute after which the API server of a cluster ends a request.
const hurry = 55 * time.Second

// hurried explains an error that may be the end of a request by the API server.
func hurried(err error, began time.Time) error {
	if took := time.Since(began); err != nil && took > hurry && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w (after %s). The API server of a cluster ends each request after a minute, and this part of the history needs longer.\n"+
			"Run the same command again from a place with a faster connection to the server", err, took.Round(time.Second))
	}
	return err
}

// timed explains errors of reading.
type timed struct {
	io.ReadCloser
	began time.Time
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = hurried(err, t.began)
	}
	return n, err
}
