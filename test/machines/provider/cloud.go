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

// cloud is a client of local-machines.
type cloud struct{ endpoint, token string }

var errNotFound = errors.New("there is no such object")

// client has the time that the end of a machine takes.
var client = http.Client{Timeout: 3 * time.Minute}

// do makes a request for networks/NAME or machines/NAME, and reads the answer into result unless that is nil.
func (c *cloud) do(ctx context.Context, method, kind, name string, given, result any) error {
	body, err := json.Marshal(given)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.endpoint, "/")+"/"+kind+"/"+url.PathEscape(name), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusNotFound:
		return errNotFound
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text)))
	case result == nil:
		return nil
	}
	return json.Unmarshal(text, result)
}
