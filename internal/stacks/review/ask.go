// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package review

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

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

const (
	// maxReply limits how much of a reply is read.
	maxReply = 1 << 20
	// attempts limits attempts if a service does not respond, or is temporarily unavailable.
	attempts = 3
)

// Client asks services.
type Client struct {
	// Certs has a directory per host: tls.crt and tls.key for a client, ca.crt for an authority.
	Certs string
	// Timeout limits an attempt; 0 means 30 s. Pause between attempts doubles; 0 means 1 s.
	Timeout, Pause time.Duration
}

// RefusedError means that a service refused the plan.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// Ask asks the stack's i-th webhook. Nil means that the plan passes, a *RefusedError that it does
// not; after other errors that is unknown.
func (c *Client) Ask(ctx context.Context, i int, hook infrav1.Webhook, payload []byte) error {
	reply, err := c.send(ctx, hook.URL, payload)
	if err != nil {
		return err
	}
	field := fmt.Sprintf("spec.webhooks[%d].", i)
	verdict, err := template.Text(field+"testExpression", hook.TestExpression, reply)
	if err != nil {
		return fmt.Errorf("evaluate the reply of webhook %s: %w", outbound.Show(hook.URL), err)
	}
	switch verdict = strings.TrimSpace(verdict); verdict {
	case "true", "yes":
		return nil
	case "false", "no":
	default:
		return fmt.Errorf("webhook test expression %q returned unexpected result: %.200s", hook.TestExpression, verdict)
	}
	message, err := template.Text(field+"errorMessageTemplate", hook.ErrorMessageTemplate, reply)
	if err != nil {
		return &RefusedError{fmt.Sprintf("webhook %s refused the plan, and its message cannot be composed: %s", outbound.Show(hook.URL), err)}
	}
	if strings.TrimSpace(message) == "" {
		message = fmt.Sprintf("webhook %s refused the plan", outbound.Show(hook.URL))
	}
	return &RefusedError{infrav1.TrimMessage(message)}
}

// send posts the payload until the service responds.
func (c *Client) send(ctx context.Context, address string, payload []byte) (map[string]any, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("send webhook %s: its URL must be http:// or https:// and name a host", outbound.Show(address))
	}
	options := outbound.Options{Timeout: c.Timeout}
	if options.Timeout == 0 {
		options.Timeout = 30 * time.Second
	}
	if u.Scheme == "https" {
		if options.Roots, options.Certificate, err = c.certificates(u.Hostname()); err != nil {
			return nil, fmt.Errorf("send webhook %s: %w", outbound.Show(address), err)
		}
	}
	client := outbound.Client(options)
	pause := c.Pause
	if pause == 0 {
		pause = time.Second
	}
	for n := 1; ; n++ {
		reply, err := post(ctx, client, address, payload)
		var again *transientError
		if err == nil || !errors.As(err, &again) || n == attempts {
			return reply, err
		}
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return nil, err
		}
	}
}

// transientError is an error that a retry may fix.
type transientError struct{ error }

func (e *transientError) Unwrap() error { return e.error }

func post(ctx context.Context, client *http.Client, address string, payload []byte) (map[string]any, error) {
	shown := outbound.Show(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("send webhook %s: its URL cannot be used", shown)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "yuba-webhook")
	response, err := client.Do(req)
	if err != nil {
		return nil, &transientError{fmt.Errorf("send webhook %s: %s", shown, outbound.Explain(err))} // the error itself quotes the URL
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("webhook %s returned %d: %[2]d %s", shown, response.StatusCode, http.StatusText(response.StatusCode))
		if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
			return nil, &transientError{err}
		}
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil {
		return nil, &transientError{fmt.Errorf("read the reply of webhook %s: %s", shown, outbound.Explain(err))}
	}
	if len(text) > maxReply {
		return nil, fmt.Errorf("read the reply of webhook %s: it has more than %d bytes", shown, maxReply)
	}
	var reply map[string]any
	if json.Unmarshal(text, &reply) != nil || reply == nil {
		return nil, fmt.Errorf("read the reply of webhook %s: it is not a JSON object", shown)
	}
	return reply, nil
}
