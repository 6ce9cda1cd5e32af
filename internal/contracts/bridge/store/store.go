// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Limit bounds documents.
const Limit = 1 << 20

// ErrMoved means that another document is there than the one to replace.
var ErrMoved = errors.New("somebody else wrote the document at the same time")

// RefusedError means that the store cannot have the document, whenever it is tried.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Document is what is at the place of a store.
type Document struct {
	// Content is the JSON text; nil if there is none.
	Content []byte
	// Tag identifies the document; empty if there is none.
	Tag string
}

// Store is one place of a store. Calls may be repeated: after an error, a write may have happened.
type Store interface {
	// Name says where the document is: "ssm /configuration/base in eu-central-1".
	Name() string
	// Read returns the document.
	Read(ctx context.Context) (Document, error)
	// Write replaces the document with a tag, or creates it if the tag is empty.
	Write(ctx context.Context, content []byte, over string) error
	// Delete removes the document with a tag. It may be gone already.
	Delete(ctx context.Context, tag string) error
}

// timeout bounds a request.
const timeout = 30 * time.Second

// PrivateError means that a host that no administrator named has an address on this machine or in its
// network.
type PrivateError struct{ Host string }

func (e *PrivateError) Error() string {
	return fmt.Sprintf("%s has an address on this machine or in a private network. If bridges and secret stores may use it, start the server with --contract-store-endpoints and its exact host and port", e.Host)
}

// Client returns the client for servers that authors of bridges name: of private addresses it only
// reaches the endpoints, each HOST:PORT. Otherwise a bridge could publish what other services of the
// server's network answer.
func Client(endpoints []string) *http.Client {
	g := &outbound.Gate{Named: endpoints, Connect: timeout, Refused: func(host string) error { return &PrivateError{host} }}
	t := outbound.Transport(outbound.Options{Timeout: timeout})
	g.Limit(t)
	return &http.Client{Timeout: timeout, Transport: t, CheckRedirect: outbound.Follow(0)}
}

// clientOr returns a store's client, or the one for AWS's own names, which may have private addresses
// in a VPC.
func clientOr(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return outbound.Client(outbound.Options{Timeout: timeout})
}

// limited reads a body to the limit.
func limited(body io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = refused("the document has more than %d bytes", limit)
	}
	return content, err
}

// failed says what was attempted, without the address of a proxy or a query.
func failed(action, name string, err error) error {
	return fmt.Errorf("%s %s: %w", action, name, err)
}
