// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// timeout bounds a request.
const timeout = 30 * time.Second

// Client returns the client for servers that authors of stores name: of private addresses it only reaches the
// endpoints, each HOST:PORT, as bridges of contracts do. roots are further authorities; nil for the system's.
func Client(endpoints []string, roots *x509.CertPool) *http.Client {
	g := &outbound.Gate{Named: endpoints, Connect: timeout, Refused: func(host string) error { return &store.PrivateError{Host: host} }}
	t := outbound.Transport(outbound.Options{Timeout: timeout, Roots: roots})
	g.Limit(t)
	return &http.Client{Timeout: timeout, Transport: t, CheckRedirect: outbound.Follow(0)}
}

// Any returns the client for servers that the caller of a command names.
func Any() *http.Client { return outbound.Client(outbound.Options{Timeout: timeout}) }

// request is one call of a REST API.
type request struct {
	method, url string
	header      map[string]string
	// body is sent as JSON; a url.Values as a form.
	body any
}

// errAnswer is an answer that is not the expected JSON; nothing of it is shown.
var errAnswer = errors.New("the answer is not the expected JSON")

// StatusError is an answer that refuses.
type StatusError struct {
	Status  int
	Message string
	// answer is what the server said, for [StatusError.decode]. It is not shown.
	answer []byte
}

// decode reads the JSON of the answer, and reports whether it is JSON.
func (e *StatusError) decode(into any) bool { return json.Unmarshal(e.answer, into) == nil }

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

func isStatus(err error, status ...int) bool {
	var e *StatusError
	if !errors.As(err, &e) {
		return false
	}
	for _, s := range status {
		if e.Status == s {
			return true
		}
	}
	return false
}

// notFound returns the refusal if a server answers 404. Proxies and wrong addresses answer 404, too: only the body
// tells whether the service itself says that there is no such secret.
func notFound(err error) (*StatusError, bool) {
	var e *StatusError
	ok := errors.As(err, &e) && e.Status == http.StatusNotFound
	return e, ok
}

func isMissing(err error) bool {
	var e *MissingError
	return errors.As(err, &e)
}

// do makes a call and reads the JSON of its answer.
func do(ctx context.Context, c *http.Client, in request, out any) error {
	r, err := in.build(ctx)
	if err != nil {
		return err
	}
	answer, err := c.Do(r)
	if err != nil {
		var private *store.PrivateError
		if errors.As(err, &private) {
			return private
		}
		return errors.New(outbound.Explain(err))
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, 2*Limit+1))
	switch {
	case err != nil:
		return errors.New(outbound.Explain(err))
	case len(text) > 2*Limit:
		return fmt.Errorf("the answer has more than %d bytes", 2*Limit)
	case answer.StatusCode >= http.StatusBadRequest:
		return &StatusError{answer.StatusCode, message(text), text}
	case answer.StatusCode >= http.StatusMultipleChoices:
		return &StatusError{Status: answer.StatusCode, Message: "redirects are not followed"}
	case out == nil:
		return nil
	}
	if json.Unmarshal(text, out) != nil {
		return errAnswer
	}
	return nil
}

func (in request) build(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	kind := "application/json"
	switch b := in.body.(type) {
	case nil:
	case url.Values:
		body, kind = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, in.method, in.url, body)
	if err != nil {
		return nil, errors.New("the address is not a valid URL")
	}
	if r.URL.Scheme != "https" && r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		return nil, errors.New("the address is not https://HOST")
	}
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	for key, value := range in.header {
		r.Header.Set(key, value)
	}
	return r, nil
}

// maxMessage bounds what is shown of an answer.
const maxMessage = 300

// message is the message of a refusal: of Vault, Google, Azure or an OAuth server.
func message(text []byte) string {
	var answer struct {
		Errors []string        `json:"errors"`
		Error  json.RawMessage `json:"error"`
		More   string          `json:"error_description"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return ""
	}
	said := strings.Join(answer.Errors, "; ")
	var object struct{ Message string }
	var word string
	switch {
	case json.Unmarshal(answer.Error, &object) == nil && object.Message != "":
		said = object.Message
	case answer.More != "":
		said = answer.More
	case json.Unmarshal(answer.Error, &word) == nil && word != "":
		said = word
	}
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > maxMessage {
		said = strings.ToValidUTF8(said[:maxMessage], "") + "…"
	}
	return said
}
