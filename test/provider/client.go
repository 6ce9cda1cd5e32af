// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

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
)

// client talks to the cloud.
type client struct {
	endpoint, token string
	http            http.Client
}

// remote is an object as the cloud knows it.
type remote struct {
	Content  string `json:"content"`
	Secret   string `json:"secret,omitempty"`
	Revision int64  `json:"revision"`
}

var errNotFound = errors.New("there is no such object")

func (c *client) get(ctx context.Context, name string) (remote, error) {
	return c.do(ctx, http.MethodGet, name, nil, nil)
}

// headerCreate tells the cloud that there is to be no such object yet. It serves the request all the same, and remembers.
const headerCreate = "Yubatest-Create"

func (c *client) create(ctx context.Context, name string, o remote) (remote, error) {
	return c.do(ctx, http.MethodPut, name, &o, http.Header{headerCreate: {"yes"}})
}

func (c *client) update(ctx context.Context, name string, o remote) (remote, error) {
	return c.do(ctx, http.MethodPut, name, &o, nil)
}

func (c *client) delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, name, nil, nil)
	if errors.Is(err, errNotFound) {
		return nil
	}
	return err
}

// do makes a request. An error carries what the cloud says, whatever that is: providers do that.
func (c *client) do(ctx context.Context, method, name string, given *remote, header http.Header) (remote, error) {
	var o remote
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
		return o, errNotFound
	case response.StatusCode != http.StatusOK:
		return o, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	case len(text) == 0:
		return o, nil
	}
	return o, json.Unmarshal(text, &o)
}
