// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Secret is a credential, or an address that contains one. It prints masked.
type Secret string

// String masks the text.
func (Secret) String() string { return "(sensitive)" }

// GoString masks the text.
func (Secret) GoString() string { return "(sensitive)" }

// Target is a service and its access.
type Target struct {
	Type     string
	Address  Secret
	Channel  string
	Username string
	Token    Secret
	// Headers are added to the requests of the generic types.
	Headers map[string]string
	// Proxy is the proxy to use; nil means the one in the server's environment, if any.
	Proxy *url.URL
	// Roots are the service's authorities, Certificate the client certificate. Both may be nil.
	Roots       *x509.CertPool
	Certificate *tls.Certificate
	// Timeout limits one attempt with all its requests.
	Timeout time.Duration
}

// Message is an event for one target.
type Message struct {
	Event eventv1.Event `json:"event"`
	// Page is the address of the web page about the event; empty if there is none. Only Yuba sets it,
	// unlike metadata, so services may make a link of it.
	Page string `json:"page,omitempty"`
	// CommitStatus is the name of the commit status, for forges.
	CommitStatus string `json:"commitStatus,omitempty"`
	// ID identifies the message in all attempts.
	ID string `json:"id"`
}

// Error says why a service did not accept a message.
type Error struct {
	Message string
	// Again is true if a retry may succeed. After is the delay that the service asked for.
	Again bool
	After time.Duration
}

func (e *Error) Error() string { return e.Message }

// permanent is an error that a retry does not fix.
func permanent(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// forward is the type of another dispatcher of events.
const forward = "forward"

// Dispatcher returns the target of another dispatcher, such as Flux's notification-controller.
func Dispatcher(address string, timeout time.Duration) Target {
	return Target{Type: forward, Address: Secret(address), Timeout: timeout}
}

// composers compose the requests of all types but forges.
var composers = map[string]func(Target, Message) (request, error){
	forward:                                 composeForward,
	notificationv1beta3.GenericProvider:     composeGeneric,
	notificationv1beta3.GenericHMACProvider: composeHMAC,
	notificationv1beta3.SlackProvider:       composeSlack,
	notificationv1beta3.RocketProvider:      composeSlack,
	notificationv1beta3.DiscordProvider:     composeDiscord,
	notificationv1beta3.MSTeamsProvider:     composeTeams,
	notificationv1beta3.Matrix:              composeMatrix,
}

// Supported reports whether targets of a type are supported.
func Supported(kind string) bool {
	_, composed := composers[kind]
	return composed && kind != forward || KeepsStatuses(kind)
}

// KeepsStatuses reports whether targets of a type are forges, for events with a commit.
func KeepsStatuses(kind string) bool {
	_, ok := forges[kind]
	return ok
}

// Send makes one attempt to send a message.
func Send(ctx context.Context, t Target, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	if f, ok := forges[t.Type]; ok {
		return f.send(ctx, t, m)
	}
	compose, ok := composers[t.Type]
	if !ok {
		return permanent("Yuba does not support providers of type %s", t.Type)
	}
	r, err := compose(t, m)
	if err != nil {
		return err
	}
	_, err = t.do(ctx, r)
	return err
}

// request is one request.
type request struct {
	method, url string
	header      http.Header
	body        any
	// check detects a failure in the response, even if the status is a success.
	check func(answer []byte) error
	// taken is a further status of success.
	taken int
}

// object is a JSON object.
type object = map[string]any

func (t *Target) post(body any) request {
	return request{method: http.MethodPost, url: string(t.Address), body: body}
}

// maxAnswer limits responses; a list of a hundred commit statuses has about a fifth of it.
const maxAnswer = 1 << 20

func (t *Target) do(ctx context.Context, r request) ([]byte, error) {
	host, err := checkAddress(r.url)
	if err != nil {
		return nil, err
	}
	body, ok := r.body.([]byte)
	if !ok && r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return nil, permanent("encode the message for %s: %v. This is a bug in Yuba", host, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, permanent("the address of %s is invalid", host)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "yuba")
	}
	client := outbound.Client(outbound.Options{Timeout: t.Timeout, Roots: t.Roots, Certificate: t.Certificate, Proxy: t.Proxy})
	response, err := client.Do(req)
	var answer []byte
	if err == nil {
		defer response.Body.Close()
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err := judge(response, r, host); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("%s %s: %s", r.method, host, outbound.Explain(err)), Again: true}
	}
	if r.check != nil {
		return answer, r.check(answer)
	}
	return answer, nil
}

// checkAddress returns the host of an address for messages.
func checkAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", permanent("the address must be a URL that begins with http:// or https:// (it is not shown because it may contain a token)")
	}
	return u.Scheme + "://" + u.Host, nil
}

// judge explains a status other than success.
func judge(response *http.Response, r request, host string) error {
	code := response.StatusCode
	if code >= 200 && code < 300 || code == r.taken {
		return nil
	}
	e := &Error{Message: fmt.Sprintf("%s %s: the service answers %d %s", r.method, host, code, http.StatusText(code))}
	switch {
	case code >= 300 && code < 400:
		e.Message += ". Redirects are not followed: set the address that it leads to"
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.Message += ". The token may be missing, wrong or without the required permission"
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		e.Again, e.After = true, retryAfter(response.Header, time.Now())
	}
	return e
}

// maxRetryAfter limits the delay that a service may ask for.
const maxRetryAfter = time.Hour

// retryAfter returns the delay that the service asks for, as seconds or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	var after time.Duration
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds > maxRetryAfter.Seconds() {
			return maxRetryAfter
		}
		after = time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}

// Types returns all supported types.
func Types() []string {
	types := slices.AppendSeq(slices.Collect(maps.Keys(composers)), maps.Keys(forges))
	types = slices.DeleteFunc(types, func(kind string) bool { return kind == forward })
	slices.Sort(types)
	return types
}
