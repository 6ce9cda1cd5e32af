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
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client talks to the cloud.
type client struct {
	endpoint, token string
	http            http.Client
}

func newClient(endpoint, token string) *client {
	return &client{endpoint: strings.TrimRight(endpoint, "/"), token: token, http: http.Client{Timeout: 10 * time.Minute}}
}

var errNotFound = errors.New("there is no such object")

func (c *client) get(ctx context.Context, name string) (content string, err error) {
	text, err := c.do(ctx, http.MethodGet, name, nil)
	return string(text), err
}

func (c *client) put(ctx context.Context, name, content, secret string) error {
	body, err := json.Marshal(map[string]string{"content": content, "secret": secret})
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPut, name, body)
	return err
}

func (c *client) delete(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodDelete, name, nil)
	return err
}

// do makes a request. An error carries what the cloud says, as those of real providers do.
func (c *client) do(ctx context.Context, method, name string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint+"/objects/"+url.PathEscape(name), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
