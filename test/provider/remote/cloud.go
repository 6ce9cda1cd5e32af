// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote is a client of the cloud in package test/cloud. The test providers share it: that
// of test/provider, and those of test/standin.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Cloud is a client with credentials.
type Cloud struct {
	endpoint, token string
	http            http.Client
}

// New returns a client for the cloud at an address.
func New(endpoint, token string) *Cloud {
	return &Cloud{endpoint: strings.TrimRight(endpoint, "/"), token: token, http: http.Client{Timeout: 10 * time.Minute}}
}

// Object is an object as stored in the cloud.
type Object struct {
	Content  string `json:"content"`
	Secret   string `json:"secret,omitempty"`
	Revision int64  `json:"revision"`
}

// ErrNotFound says that an object does not exist.
var ErrNotFound = errors.New("there is no such object")

// Get reads an object.
func (c *Cloud) Get(ctx context.Context, name string) (Object, error) {
	return c.do(ctx, http.MethodGet, name, nil, nil)
}

// headerCreate marks a request that expects no object of that name. The cloud serves it in any
// case, and records it.
const headerCreate = "Yubatest-Create"

// Create creates an object.
func (c *Cloud) Create(ctx context.Context, name string, o Object) (Object, error) {
	return c.do(ctx, http.MethodPut, name, &o, http.Header{headerCreate: {"yes"}})
}

// Update changes an object.
func (c *Cloud) Update(ctx context.Context, name string, o Object) (Object, error) {
	return c.do(ctx, http.MethodPut, name, &o, nil)
}

// Delete deletes an object. It succeeds if the object does not exist.
func (c *Cloud) Delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, name, nil, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// do makes a request. An error contains the cloud's whole response, as errors of real providers do.
func (c *Cloud) do(ctx context.Context, method, name string, given *Object, header http.Header) (Object, error) {
	var o Object
	body, err := json.Marshal(given)
	if err != nil {
		return o, err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint+"/objects/"+url.PathEscape(name), bytes.NewReader(body))
	if err != nil {
		return o, err
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return o, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return o, err
	case response.StatusCode == http.StatusNotFound:
		return o, ErrNotFound
	case response.StatusCode != http.StatusOK:
		return o, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	case len(text) == 0:
		return o, nil
	}
	return o, json.Unmarshal(text, &o)
}
