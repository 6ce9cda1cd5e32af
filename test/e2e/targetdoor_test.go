// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
)

// The proxy of a target cluster: paths and bodies contain apps outside and hiddenGroup inside.
var (
	appsInPath    = regexp.MustCompile(`/apis/apps(/|$)`)
	appsOutside   = []byte(`"apps/v1"`)
	appsInside    = []byte(`"` + hiddenGroup + `/v1"`)
	hiddenAnyhow  = []byte(hiddenGroup)
	shownInstead  = []byte("apps")
	inPathInstead = "/apis/" + hiddenGroup + "$1"
)

// door is a proxy that requires the token.
func door(behind *url.URL, transport http.RoundTripper, token string) http.Handler {
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { goIn(r, behind) }, ModifyResponse: comeOut}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

func goIn(r *httputil.ProxyRequest, behind *url.URL) {
	r.SetURL(behind)
	r.Out.URL.Path, r.Out.URL.RawPath = appsInPath.ReplaceAllString(r.Out.URL.Path, inPathInstead), ""
	r.Out.Header.Del("Authorization")   // the proxy uses a certificate
	r.Out.Header.Del("Accept-Encoding") // what is packed cannot be rewritten
	// Binary formats cannot be rewritten either.
	r.Out.Header.Set("Accept", strings.ReplaceAll(r.Out.Header.Get("Accept"), "application/vnd.kubernetes.protobuf", "application/json"))
	if r.Out.Body == nil || !isText(r.Out.Header) {
		return
	}
	body, err := io.ReadAll(r.Out.Body)
	if err != nil {
		return // the API complains about half a body
	}
	body = bytes.ReplaceAll(body, appsOutside, appsInside)
	r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Out.Header.Del("Content-Length")
}

func comeOut(response *http.Response) error {
	if !isText(response.Header) {
		return nil
	}
	response.Body = &lines{in: bufio.NewReader(response.Body), Closer: response.Body}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	return nil
}

func isText(header http.Header) bool {
	kind := header.Get("Content-Type")
	return strings.Contains(kind, "json") || strings.Contains(kind, "yaml")
}

// lines rewrites line by line: a watch sends a line for each event and must not wait for more.
type lines struct {
	io.Closer
	in   *bufio.Reader
	rest []byte
	err  error
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 && l.err == nil {
		var line []byte
		line, l.err = l.in.ReadBytes('\n')
		l.rest = bytes.ReplaceAll(line, hiddenAnyhow, shownInstead)
	}
	if len(l.rest) == 0 {
		return 0, l.err
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}
