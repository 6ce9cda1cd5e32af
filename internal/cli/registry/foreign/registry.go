// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

const (
	// patience limits one answer of metadata, and the beginning of a download.
	patience = 30 * time.Second
	// attempts is how often a request is made. Terraform Enterprise allows 30 requests in a second, and
	// answers 429 to others.
	attempts = 5
	// maxWait limits the pause that a server asks for.
	maxWait = time.Minute
	// redirects is the number of redirects to follow.
	redirects = 5
	// maxAnswer limits an answer of metadata.
	maxAnswer = 16 << 20
)

// Registry is a host with modules.
type Registry struct {
	Host  string
	token string
	http  *http.Client
	// services are the URLs that the host announces.
	services map[string]*url.URL
}

// StatusError is an answer that is not a success.
type StatusError struct {
	// Code is the HTTP status, and Text the server's explanation if it gave one.
	Code int
	Text string
	wait time.Duration
}

func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the answer is %d %s", e.Code, http.StatusText(e.Code)))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Open finds the services of a host. An empty token sends none; nil roots trust the system's.
func Open(ctx context.Context, host, token string, roots *x509.CertPool) (*Registry, error) {
	transport := outbound.Transport(outbound.Options{Connect: patience, Roots: roots})
	transport.DisableKeepAlives, transport.IdleConnTimeout = false, patience // many small requests to one host
	r := &Registry{Host: host, token: token, http: &http.Client{Transport: transport, CheckRedirect: outbound.Follow(redirects)}, services: map[string]*url.URL{}}
	var found map[string]json.RawMessage
	at, err := r.ask(ctx, &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}, &found)
	if err != nil {
		return nil, fmt.Errorf("find the registry of %s: %w", host, err)
	}
	for name, value := range found {
		var text string
		if json.Unmarshal(value, &text) != nil {
			continue // services such as login.v1 are objects
		}
		if u, err := at.Parse(text); err == nil && u.Scheme == "https" {
			r.services[name] = u
		}
	}
	if r.services["modules.v1"] == nil {
		return nil, fmt.Errorf("find the registry of %s: it has no registry of modules (its /.well-known/terraform.json has no modules.v1)", host)
	}
	return r, nil
}

// Versions lists the versions of a module, NAMESPACE/NAME/SYSTEM, oldest first. Versions that are not
// semantic versions are returned apart, because no tool can select them.
func (r *Registry) Versions(ctx context.Context, module string) (versions, invalid []string, err error) {
	var answer struct {
		Modules []struct {
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"modules"`
	}
	if _, err := r.ask(ctx, r.services["modules.v1"].JoinPath(module, "versions"), &answer); err != nil {
		return nil, nil, fmt.Errorf("list the versions of %s/%s: %w", r.Host, module, err)
	}
	if len(answer.Modules) == 0 {
		return nil, nil, fmt.Errorf(`list the versions of %s/%s: the answer has no "modules"`, r.Host, module)
	}
	var parsed []*semver.Version
	for _, v := range answer.Modules[0].Versions {
		if one, err := semver.StrictNewVersion(v.Version); err == nil {
			parsed = append(parsed, one)
			continue
		}
		invalid = append(invalid, v.Version)
	}
	slices.SortStableFunc(parsed, func(a, b *semver.Version) int { return cmp.Or(a.Compare(b), cmp.Compare(a.Original(), b.Original())) })
	for _, v := range slices.Compact(parsed) {
		versions = append(versions, v.Original())
	}
	return slices.Compact(versions), invalid, nil
}

// ask reads a JSON document of the registry, and returns the URL that gave it.
func (r *Registry) ask(ctx context.Context, u *url.URL, into any) (*url.URL, error) {
	response, text, err := r.read(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
			return nil, errors.New("the answer is HTML and not the expected JSON; perhaps a proxy or a login page answers in its place")
		}
		return nil, fmt.Errorf("the answer is not the expected JSON: %w", err)
	}
	return response.Request.URL, nil
}

// read reads an answer of the registry itself.
func (r *Registry) read(ctx context.Context, u *url.URL) (response *http.Response, text []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attempts*maxWait, errors.New("no response in time"))
	defer cancel()
	err = again(ctx, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no response in time"))
		defer cancel()
		if response, err = r.get(ctx, u, true); err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		if text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1)); err != nil {
			return explain(ctx, err)
		}
		if len(text) > maxAnswer {
			return fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
		}
		return nil
	})
	return response, text, err
}

// get starts a request; the caller closes the body. Only with authorised it carries the token, which
// redirects to other hosts lose.
func (r *Registry) get(ctx context.Context, u *url.URL, authorised bool) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid URL", outbound.Show(u.String()))
	}
	request.Header.Set("User-Agent", "yuba")
	if authorised && r.token != "" && u.Scheme == "https" && comparable(u.Host) == comparable(r.Host) {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, explain(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close() //nolint:errcheck // it was only read
		return nil, refused(response)
	}
	return response, nil
}

// refused reads an error, with the explanation of registries that give one.
func refused(response *http.Response) error {
	e := &StatusError{Code: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		e.wait = time.Duration(max(0, min(seconds, int(maxWait/time.Second)))) * time.Second
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // without it the status has to do
	var said struct {
		Errors []json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(text, &said) == nil && len(said.Errors) > 0 {
		var plain string
		var detailed struct{ Title, Detail string }
		if json.Unmarshal(said.Errors[0], &plain) == nil {
			e.Text = plain
		} else if json.Unmarshal(said.Errors[0], &detailed) == nil {
			e.Text = cmp.Or(detailed.Detail, detailed.Title)
		}
	}
	return e
}

// explain describes a network error in our own words. Messages of network packages have whole URLs,
// whose queries can be credentials.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var timeout net.Error
	brief := errors.As(err, &timeout) && timeout.Timeout()
	for _, cause := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		brief = brief || errors.Is(err, cause)
	}
	return &networkError{errors.New(outbound.Explain(err)), brief}
}

// networkError means that there was no answer, or only a part of it. brief is true for problems that
// often pass, unlike an untrusted certificate.
type networkError struct {
	error
	brief bool
}

// again repeats what may succeed later.
func again(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		wait, temporary := temporary(err, attempt)
		if err == nil || !temporary || attempt == attempts || ctx.Err() != nil {
			return err
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

func temporary(err error, attempt int) (time.Duration, bool) {
	wait := time.Duration(attempt*attempt) * 200 * time.Millisecond
	var status *StatusError
	if errors.As(err, &status) {
		return max(wait, status.wait), status.Code == http.StatusTooManyRequests || status.Code >= 500
	}
	var network *networkError
	return wait, errors.As(err, &network) && network.brief
}
