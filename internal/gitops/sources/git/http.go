// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	fluxgit "github.com/fluxcd/pkg/git"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// dialTimeout is for connecting and shaking hands; everything else is bounded by contexts.
const dialTimeout = 30 * time.Second

var (
	errDenied   = errors.New("the server refuses the credentials")
	errNoAccess = errors.New("the server requires credentials")
	errNotFound = errors.New("the repository does not exist, or these credentials may not see it")
	errRedirect = errors.New("the server redirects too often, or from https to another scheme")
)

// statusError is an answer that is none.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered with status %d (%s)", e.code, http.StatusText(e.code))
}

// httpRemote is a server that speaks the protocol over HTTP.
type httpRemote struct {
	client *http.Client
	auth   *fluxgit.AuthOptions
	start  *url.URL

	mu   sync.Mutex
	base *url.URL // where the last list was redirected to
}

func newHTTP(e *endpoint) (*httpRemote, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(e.auth.CAFile) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(e.auth.CAFile) {
			return nil, badTLS(e, "ca.crt does not contain a certificate")
		}
		config.RootCAs = roots
	}
	if len(e.auth.ClientCert)+len(e.auth.ClientKey) > 0 {
		pair, err := tls.X509KeyPair(e.auth.ClientCert, e.auth.ClientKey)
		if err != nil {
			return nil, badTLS(e, "tls.crt and tls.key are not a certificate with its key")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if e.proxy != nil && e.proxy.Scheme != "http" && e.proxy.Scheme != "https" && e.proxy.Scheme != "socks5" {
		return nil, badTLS(e, "the proxy's address must begin with http://, https:// or socks5://")
	}
	start := *e.url
	start.User, start.RawQuery, start.Fragment = nil, "", ""
	start.Path, start.RawPath = strings.TrimSuffix(start.Path, "/"), strings.TrimSuffix(start.RawPath, "/")
	return &httpRemote{start: &start, auth: e.auth, client: &http.Client{
		CheckRedirect: follow,
		Transport: &http.Transport{
			Proxy:                  proxyFor(e.proxy),
			DialContext:            outbound.Dialer(dialTimeout).DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           2,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}}, nil
}

func badTLS(e *endpoint, reason string) error {
	return &archive.FetchError{Reason: ReasonAuthentication, Message: fmt.Sprintf("connect to %s: %s", show(e.url.String()), reason)}
}

// proxyFor is the proxy that was given, else the one of the server's environment. A proxy looks
// names up itself, so that only addresses can be looked at here.
func proxyFor(given *url.URL) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && outbound.Forbidden(address) {
			return nil, &outbound.ForbiddenError{Address: r.URL.Host}
		}
		if given != nil {
			return given, nil
		}
		return http.ProxyFromEnvironment(r)
	}
}

// follow lets repositories move, and leaves credentials behind when they move to another host.
func follow(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > 5 || next.URL.Scheme != "https" && next.URL.Scheme != first.Scheme {
		return errRedirect
	}
	if next.URL.Scheme != "https" && next.URL.Scheme != "http" {
		return errRedirect
	}
	if !sameHost(next.URL, first) {
		next.Header.Del("Authorization")
	}
	return nil
}

// sameHost tells whether what is meant for one URL may be shown to the other.
func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

func (h *httpRemote) list(ctx context.Context) (*advert, error) {
	asked := h.start.JoinPath("info", "refs")
	asked.RawQuery = "service=git-upload-pack"
	response, err := h.send(ctx, http.MethodGet, asked, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "application/x-git-upload-pack-advertisement" {
		return nil, fmt.Errorf("%w (or one that does not speak the smart protocol)", errNotGit)
	}
	base := *response.Request.URL
	path, moved := strings.CutSuffix(base.Path, "/info/refs")
	if !moved {
		return nil, errRedirect
	}
	base.Path, base.RawPath, base.RawQuery = path, strings.TrimSuffix(base.RawPath, "/info/refs"), ""
	h.mu.Lock()
	h.base = &base
	h.mu.Unlock()
	body := bufio.NewReader(response.Body)
	given, err := readAdvert(body)
	if errors.Is(err, errEmpty) {
		return nil, errors.Join(ended(body), err)
	}
	return given, err
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
	response, err := h.send(ctx, http.MethodPost, base.JoinPath("git-upload-pack"), body)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (h *httpRemote) send(ctx context.Context, method string, to *url.URL, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "git/yuba")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		request.Header.Set("Accept", "application/x-git-upload-pack-result")
	}
	if sameHost(to, h.start) {
		h.authorize(request)
	}
	response, err := h.client.Do(request)
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
	return nil, &statusError{response.StatusCode}
}

func (h *httpRemote) authorize(request *http.Request) {
	switch {
	case h.auth.BearerToken != "":
		request.Header.Set("Authorization", "Bearer "+h.auth.BearerToken)
	case h.auth.Username != "" || h.auth.Password != "":
		request.SetBasicAuth(h.auth.Username, h.auth.Password)
	}
}
