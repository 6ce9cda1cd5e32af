// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote speaks to the cloud of package test/cloud, as providers speak to theirs. The providers of tests share it:
// that of test/provider, and those that test/standin stands in for.
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

// Cloud is one that somebody was let into.
type Cloud struct {
	endpoint, token string
	http            http.Client
}

// New is the cloud at an address, for who has its token.
func New(endpoint, token string) *Cloud {
	return &Cloud{endpoint: strings.TrimRight(endpoint, "/"), token: token, http: http.Client{Timeout: 10 * time.Minute}}
}

// Object is an object as the cloud knows it.
type Object struct {
	Content  string `json:"content"`
	Secret   string `json:"secret,omitempty"`
	Revision int64  `json:"revision"`
}

// ErrNotFound says that there is no such object.
var ErrNotFound = errors.New("there is no such object")

// Get reads an object.
func (c *Cloud) Get(ctx context.Context, name string) (Object, error) {
	return c.do(ctx, http.MethodGet, name, nil, nil)
}

// headerCreate tells the cloud that there is to be no such object yet. It serves the request all the same, and remembers.
const headerCreate = "Yubatest-Create"

// Create makes an object.
func (c *Cloud) Create(ctx context.Context, name string, o Object) (Object, error) {
	return c.do(ctx, http.MethodPut, name, &o, http.Header{headerCreate: {"yes"}})
}

// Update changes an object.
func (c *Cloud) Update(ctx context.Context, name string, o Object) (Object, error) {
	return c.do(ctx, http.MethodPut, name, &o, nil)
}

// Delete deletes an object. One that is not there is deleted already.
func (c *Cloud) Delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, name, nil, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// do makes a request. An error carries what the cloud says, whatever that is: providers do that.
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
