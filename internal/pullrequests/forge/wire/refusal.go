// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// maxMessage is the length of a forge's message in an error.
const maxMessage = 200

// Refusal is a response that says no.
type Refusal struct {
	Status  int
	Header  http.Header
	Body    []byte
	Message string
}

// refused classifies a response that says no.
func (c *Client) refused(call Call, response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) //nolint:errcheck // the status says enough
	r := Refusal{response.StatusCode, response.Header, body, c.message(body)}
	doing := c.doing(call)
	if until := c.limited(r); !until.IsZero() {
		return &forge.LimitedError{Doing: doing, Until: until}
	}
	if c.Scopes != nil {
		if missing, about := c.Scopes(r); about {
			return &forge.ScopeError{Doing: doing, Missing: c.shown(missing)}
		}
	}
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusNonAuthoritativeInfo:
		return &forge.TokenError{Doing: doing, Expired: strings.Contains(strings.ToLower(r.Message), "expired")}
	case r.Status == http.StatusForbidden:
		return &forge.ScopeError{Doing: doing}
	case r.Status == http.StatusNotFound, r.Status == http.StatusGone:
		return &forge.NotFoundError{Doing: doing}
	case r.Status == http.StatusRequestTimeout, r.Status >= 500:
		return &forge.DownError{Doing: doing, Reason: "the forge answers " + status(r.Status)}
	}
	return &forge.RefusedError{Doing: doing, Reason: "the forge refuses it: " + cmp.Or(r.Message, status(r.Status))}
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", code, http.StatusText(code)))
}

// message is the message of a refusal in JSON, made safe to show. Other bodies are not shown: they can be
// pages of whatever else listens there.
func (c *Client) message(body []byte) string {
	var content struct {
		Message     any    `json:"message"`
		Error       any    `json:"error"`
		Description string `json:"error_description"`
		Errors      []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &content) != nil && content.Message == nil {
		return ""
	}
	var parts []string
	add := func(value any) {
		switch v := value.(type) {
		case string:
			parts = append(parts, v)
		case map[string]any:
			if text, ok := v["message"].(string); ok {
				parts = append(parts, text)
			} else if text, err := json.Marshal(v); err == nil {
				parts = append(parts, string(text))
			}
		case []any:
			if text, err := json.Marshal(v); err == nil {
				parts = append(parts, string(text))
			}
		}
	}
	add(content.Message)
	add(content.Error)
	add(content.Description)
	for _, e := range content.Errors {
		parts = append(parts, e.Message)
	}
	return c.safe(strings.Join(parts, ": "))
}

// safe makes text of a forge fit for an error: one short line, printable, and without credentials.
func (c *Client) safe(text string) string {
	c.lock.Lock()
	secrets := slices.Clone(c.secrets)
	c.lock.Unlock()
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "(sensitive)")
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return shorten.Cut(shorten.Line(text), maxMessage)
}

func (c *Client) shown(list []string) []string {
	var out []string
	for _, s := range list {
		if s = c.safe(s); s != "" && len(out) < 8 {
			out = append(out, s)
		}
	}
	return out
}
