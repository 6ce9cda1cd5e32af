// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// openPatience is how long an answer may take to begin: the server may have to download and verify
// a provider first.
const openPatience = 20 * time.Minute

// newOpener returns a client like another one, for answers that are passed on as they are.
func newOpener(like *http.Client) *http.Client {
	transport := like.Transport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // newClient made it
	transport.ResponseHeaderTimeout, transport.DisableCompression = openPatience, true
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Open makes one attempt to send a request without a body, and returns the answer as it is, whatever
// its status. The caller closes the answer's body. It follows no redirects.
func (s *Server) Open(ctx context.Context, r Request) (*http.Response, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	opener, conn := s.opener, s.conn
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, r.Method, conn.URL+run.PathPrefix+r.Path, nil)
	if err != nil {
		return nil, fmt.Errorf("send a request to the server: %w", err)
	}
	r.sign(req, conn, s.version)
	response, err := opener.Do(req)
	if err != nil {
		return nil, fmt.Errorf("send a request to the server: %w", err)
	}
	s.mu.Lock()
	s.lastOK = time.Now()
	s.mu.Unlock()
	return response, nil
}

// sign adds the headers by which the server knows the runner.
func (r *Request) sign(req *http.Request, conn run.Connection, version string) {
	token := r.Token
	if token == "" {
		token = conn.Credential
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(run.HeaderProtocol, fmt.Sprint(run.ProtocolVersion))
	req.Header.Set("User-Agent", "yuba-runner/"+version)
}
