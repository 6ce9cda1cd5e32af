// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	fluxgit "github.com/fluxcd/pkg/git"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// httpRemote is a server with the protocol over HTTP.
type httpRemote struct {
	client *http.Client
	auth   *fluxgit.AuthOptions
	start  *url.URL

	mu   sync.Mutex
	base *url.URL // target of the last list's redirects
}

func newHTTP(e *endpoint) (*httpRemote, error) {
	access := upstream.Access{CA: e.auth.CAFile, Certificate: e.auth.ClientCert, Key: e.auth.ClientKey, Proxy: e.proxy}
	transport, err := access.Transport()
	if err != nil {
		return nil, e.failed("%v", err)
	}
	if e.proxy != nil && e.proxy.Scheme != "http" && e.proxy.Scheme != "https" && e.proxy.Scheme != "socks5" {
		return nil, e.failed("the proxy's address must begin with http://, https:// or socks5://")
	}
	start := *e.url
	start.User, start.RawQuery, start.Fragment = nil, "", ""
	start.Path, start.RawPath = strings.TrimSuffix(start.Path, "/"), strings.TrimSuffix(start.RawPath, "/")
	return &httpRemote{start: &start, auth: e.auth, client: &http.Client{CheckRedirect: follow, Transport: transport}}, nil
}

// follow follows a moved repository. Credentials stay with their host.
func follow(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > 5 || next.URL.Scheme != "https" && (next.URL.Scheme != "http" || first.Scheme != "http") {
		return errRedirect
	}
	if !sameHost(next.URL, first) {
		next.Header.Del("Authorization")
	}
	return nil
}

// sameHost reports whether credentials of one URL may be sent to the other.
func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

func (h *httpRemote) list(ctx context.Context) (*advert, error) {
	given, base, err := h.advertise(ctx, uploadPack)
	if base != nil {
		h.mu.Lock()
		h.base = base
		h.mu.Unlock()
	}
	return given, err
}

// advertise asks for the references of a service, and returns where redirects led.
func (h *httpRemote) advertise(ctx context.Context, service string) (*advert, *url.URL, error) {
	asked := h.start.JoinPath("info", "refs")
	asked.RawQuery = "service=" + service
	response, err := h.send(ctx, http.MethodGet, asked, service, nil)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "application/x-"+service+"-advertisement" {
		return nil, nil, fmt.Errorf("%w (or one that does not support the smart protocol)", errNotGit)
	}
	base := *response.Request.URL
	path, moved := strings.CutSuffix(base.Path, "/info/refs")
	if !moved {
		return nil, nil, errRedirect
	}
	base.Path, base.RawPath, base.RawQuery = path, strings.TrimSuffix(base.RawPath, "/info/refs"), ""
	body := bufio.NewReader(response.Body)
	given, err := readAdvert(body)
	if errors.Is(err, errEmpty) {
		return nil, &base, errors.Join(ended(body), err)
	}
	return given, &base, err
}

func (h *httpRemote) receive(ctx context.Context, ask func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	given, base, err := h.advertise(ctx, receivePack)
	if err != nil {
		return nil, err
	}
	body, err := ask(given)
	if err != nil {
		return nil, err
	}
	response, err := h.send(ctx, http.MethodPost, base.JoinPath(receivePack), receivePack, body)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (h *httpRemote) upload(ctx context.Context, given *advert, ask func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	body, err := ask(given)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	base := h.base
	h.mu.Unlock()
	if base == nil {
		base = h.start
	}
	response, err := h.send(ctx, http.MethodPost, base.JoinPath(uploadPack), uploadPack, body)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (h *httpRemote) send(ctx context.Context, method string, to *url.URL, service string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "git/yuba")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-"+service+"-request")
		request.Header.Set("Accept", "application/x-"+service+"-result")
	}
	if sameHost(to, h.start) {
		h.authorize(request)
	}
	response, err := h.client.Do(request)
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" { // a TLS alert, whose type is not exported
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	response.Body.Close()
	switch response.StatusCode {
	case http.StatusUnauthorized:
		if request.Header.Get("Authorization") == "" {
			return nil, errNoAccess
		}
		return nil, errDenied
	case http.StatusForbidden:
		return nil, errDenied
	case http.StatusNotFound:
		return nil, errNotFound
	}
	return nil, &upstream.Problem{Text: upstream.Status("server", response.StatusCode, nil)}
}

func (h *httpRemote) authorize(request *http.Request) {
	switch {
	case h.auth.BearerToken != "":
		request.Header.Set("Authorization", "Bearer "+h.auth.BearerToken)
	case h.auth.Username != "" || h.auth.Password != "":
		request.SetBasicAuth(h.auth.Username, h.auth.Password)
	}
}
