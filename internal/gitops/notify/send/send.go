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
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Secret is text that opens a service. It prints masked.
type Secret string

// String masks the text.
func (Secret) String() string { return "(sensitive)" }

// GoString masks the text.
func (Secret) GoString() string { return "(sensitive)" }

// Target is a service and how to speak to it.
type Target struct {
	Type string
	// Address may hold what opens the service, as those of incoming webhooks do.
	Address  Secret
	Channel  string
	Username string
	Token    Secret
	// Headers are added to the requests of the generic types.
	Headers map[string]string
	// Proxy is asked to make the connections; nil means the one of the server's environment.
	Proxy *url.URL
	// Roots are who signs the service's certificate, Certificate is shown to it. Both may be nil.
	Roots       *x509.CertPool
	Certificate *tls.Certificate
	// Timeout is for one attempt, with all its requests.
	Timeout time.Duration
}

// Message is an event for one target.
type Message struct {
	Event eventv1.Event `json:"event"`
	// CommitStatus is the name of the commit status; the types that keep none do not read it.
	CommitStatus string `json:"commitStatus,omitempty"`
	// ID is the same in every attempt and for no other message.
	ID string `json:"id"`
}

// Error says why a message was not taken.
type Error struct {
	Message string
	// Again is true when it may be taken later. After is what the service said about when; zero when it said nothing.
	Again bool
	After time.Duration
}

func (e *Error) Error() string { return e.Message }

// permanent is an error that another attempt does not mend.
func permanent(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// forward is the type of a service that is another dispatcher of events.
const forward = "forward"

// Dispatcher is the target that takes events to route them itself, such as Flux's notification-controller.
func Dispatcher(address string, timeout time.Duration) Target {
	return Target{Type: forward, Address: Secret(address), Timeout: timeout}
}

// composers make the one request of the types that need one.
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

// Supported tells whether messages can be sent to targets of the type.
func Supported(kind string) bool {
	_, composed := composers[kind]
	return composed && kind != forward || KeepsStatuses(kind)
}

// KeepsStatuses tells whether targets of the type keep commit statuses. Events that tell of no commit are not for them.
func KeepsStatuses(kind string) bool {
	_, ok := forges[kind]
	return ok
}

// Send makes one attempt to have the target take the message.
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

// request is one request, and how to tell from a good status' answer that it failed nevertheless.
type request struct {
	method, url string
	header      http.Header
	body        any
	check       func(answer []byte) error
	// taken are statuses beyond those of 200 to 299 that mean that there is nothing more to do.
	taken []int
}

// maxAnswer bounds what is read of an answer; a list of a hundred commit statuses has about a fifth of that.
const maxAnswer = 1 << 20

func (t *Target) do(ctx context.Context, r request) ([]byte, error) {
	host, err := checkAddress(r.url)
	if err != nil {
		return nil, err
	}
	body, ok := r.body.([]byte)
	if !ok && r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return nil, permanent("put the message for %s together: %v. This is a bug in Yuba", host, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, permanent("the address of %s cannot be asked", host)
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
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("%s %s: %s", r.method, host, outbound.Explain(err)), Again: true}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err := judge(response, r, host); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("%s %s: %s", r.method, host, outbound.Explain(err)), Again: true}
	}
	if r.check != nil {
		return answer, r.check(answer)
	}
	return answer, nil
}

// checkAddress returns the host of an address as it may be shown.
func checkAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", permanent("the address is no URL that begins with http:// or https:// (its text is not shown, for it may hold a token)")
	}
	return u.Scheme + "://" + u.Host, nil
}

// judge says what a status means.
func judge(response *http.Response, r request, host string) error {
	code := response.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	for _, taken := range r.taken {
		if code == taken {
			return nil
		}
	}
	e := &Error{Message: fmt.Sprintf("%s %s: the answer is %d %s", r.method, host, code, http.StatusText(code))}
	switch {
	case code >= 300 && code < 400:
		e.Message += ". Redirections are not followed: give the address that it leads to"
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.Message += ". The token may be missing, wrong or without the right to do this"
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		e.Again, e.After = true, retryAfter(response.Header, time.Now())
	}
	return e
}

// maxRetryAfter bounds what a service may ask for.
const maxRetryAfter = time.Hour

// retryAfter reads how long the service wants to be left alone: seconds, or a date.
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

// Types are those that are supported.
func Types() []string {
	var types []string
	for kind := range composers {
		if kind != forward {
			types = append(types, kind)
		}
	}
	for kind := range forges {
		types = append(types, kind)
	}
	slices.Sort(types)
	return types
}
