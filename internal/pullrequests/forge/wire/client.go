// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// maxResponse limits a response, of which each pass may have one in memory. A page of changed files of GitHub has
	// their patches, of 1 MB together.
	maxResponse = 8 << 20
	// maxRefusal limits how much of a refusal is read.
	maxRefusal = 64 << 10
	// maxRedirects is more than a repository that was renamed twice needs.
	maxRedirects = 3
	usualTimeout = 30 * time.Second
	agent        = "yuba"
)

// Client asks one forge. It is safe for concurrent use.
type Client struct {
	// Authorize adds the credentials to a request.
	Authorize func(ctx context.Context, r *http.Request) error
	// Scopes returns the scopes that a refusal names as missing, of which one is needed, and whether it is about scopes.
	Scopes func(r Refusal) (missing []string, about bool)
	// Where is the repository, for errors: acme/infra at git.example.com.
	Where string
	// Now is the clock.
	Now func() time.Time

	base    *url.URL
	http    *http.Client
	secrets []string

	lock sync.Mutex
	rate forge.Rate
	held time.Time
}

// New returns a client for a base URL. The secrets never appear in errors.
func New(c forge.Config, base string, secrets ...forge.Secret) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the forge's API must have an address https://HOST/PATH")
	}
	if u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the address of the forge's API must not have a password or query: put credentials into the Secret")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	transport := outbound.Transport(outbound.Options{Timeout: cmp.Or(c.Timeout, usualTimeout), Roots: c.Roots, Proxy: c.Proxy})
	// A pass over a repository sends many requests.
	transport.DisableKeepAlives, transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = false, 2, 30*time.Second
	if c.Gate != nil {
		c.Gate.Limit(transport)
	}
	client := &Client{base: u, Now: c.Now, http: &http.Client{
		Timeout: cmp.Or(c.Timeout, usualTimeout), Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if client.Now == nil {
		client.Now = time.Now
	}
	for _, s := range secrets {
		if s != "" {
			client.secrets = append(client.secrets, string(s))
		}
	}
	return client, nil
}

// Call is one request.
type Call struct {
	// Doing says what is attempted, for errors: "list pull requests".
	Doing  string
	Method string // GET if empty
	// Path follows the base URL and is escaped already. Of a whole URL, such as the next page's, path and query count.
	Path  string
	Query url.Values
	// In is sent, Out is filled, as JSON. Out may be a *[]byte for content that is not JSON.
	In, Out any
	Header  http.Header
}

// doing is what was attempted, at which repository.
func (c *Client) doing(call Call) string { return call.Doing + " of " + c.Where }

// Do sends a request, and returns the headers of its response.
func (c *Client) Do(ctx context.Context, call Call) (http.Header, error) {
	if until := c.heldUntil(); !until.IsZero() {
		return nil, &forge.LimitedError{Doing: c.doing(call), Until: until}
	}
	var body []byte
	if call.In != nil {
		var err error
		if body, err = json.Marshal(call.In); err != nil {
			return nil, fmt.Errorf("%s: write the request: %w", c.doing(call), err)
		}
	}
	at, err := c.url(call)
	if err != nil {
		return nil, err
	}
	for range maxRedirects + 1 {
		next, header, err := c.once(ctx, call, at, body)
		if err != nil || next == nil {
			return header, err
		}
		at = next
	}
	return nil, &forge.DownError{Doing: c.doing(call), Reason: "it redirects too often"}
}

// url is the address of a call.
func (c *Client) url(call Call) (*url.URL, error) {
	text := call.Path
	next := strings.Contains(text, "://")
	if !next {
		text = c.base.String() + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, c.elsewhere(call)
	}
	if next {
		// A forge that is reached by another name than its own links its own.
		u.Scheme, u.Host, u.User = c.base.Scheme, c.base.Host, nil
	}
	if len(call.Query) > 0 {
		u.RawQuery = call.Query.Encode()
	}
	return u, nil
}

// ours reports whether a URL has the origin of the base URL.
func (c *Client) ours(u *url.URL) bool {
	return u.Scheme == c.base.Scheme && strings.EqualFold(u.Host, c.base.Host) && u.User == nil
}

func (c *Client) elsewhere(call Call) error {
	return &forge.RefusedError{Doing: c.doing(call), Reason: "the forge leads to another host, to which the credentials are not sent: correct the address"}
}

// once sends a request once. It returns the address of a redirect, if the response is one.
func (c *Client) once(ctx context.Context, call Call, at *url.URL, body []byte) (*url.URL, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, cmp.Or(call.Method, http.MethodGet), at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, &forge.RefusedError{Doing: c.doing(call), Reason: "the request is not valid"}
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range call.Header {
		r.Header[name] = values
	}
	if c.Authorize != nil {
		if err := c.Authorize(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, nil, c.failed(ctx, call, err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	c.note(response)
	if target := response.Header.Get("Location"); target != "" && response.StatusCode >= 300 && response.StatusCode < 400 {
		next, err := at.Parse(target)
		if err != nil || !c.ours(next) {
			return nil, nil, c.elsewhere(call)
		}
		return next, nil, nil
	}
	if response.StatusCode < 200 || response.StatusCode > 299 || response.StatusCode == http.StatusNonAuthoritativeInfo {
		return nil, nil, c.refused(call, response)
	}
	return nil, response.Header, c.read(ctx, call, response.Body)
}

// read fills a call's Out.
func (c *Client) read(ctx context.Context, call Call, body io.Reader) error {
	limited := &io.LimitedReader{R: body, N: maxResponse}
	switch out := call.Out.(type) {
	case nil:
		return nil
	case *[]byte:
		content, err := io.ReadAll(limited)
		if err != nil {
			return c.failed(ctx, call, err)
		}
		*out = content
	default:
		if err := json.NewDecoder(limited).Decode(out); err != nil && limited.N > 0 {
			if ctx.Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return &forge.DownError{Doing: c.doing(call), Reason: "the response is not the JSON of such a forge: check its kind and address"}
			}
			return c.failed(ctx, call, err)
		}
	}
	if limited.N == 0 {
		return &forge.RefusedError{Doing: c.doing(call), Reason: fmt.Sprintf("the response has more than %d MiB", maxResponse>>20)}
	}
	return nil
}

// failed is the error for a connection that failed.
func (c *Client) failed(ctx context.Context, call Call, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", c.doing(call), context.Canceled)
	}
	return &forge.DownError{Doing: c.doing(call), Reason: outbound.Explain(err)}
}

// Hide keeps a further secret out of errors.
func (c *Client) Hide(secret string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if secret != "" {
		c.secrets = append(c.secrets, secret)
	}
}

// Base returns the base URL.
func (c *Client) Base() string { return c.base.String() }

// EscapePath escapes the segments of a path.
func EscapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
