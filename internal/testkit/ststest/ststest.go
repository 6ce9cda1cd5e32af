// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ststest is the security token service of a cloud, as far as it decides whether to trust a
// token: it verifies signature, issuer, audience, expiry and subject.
package ststest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Audience is that of the service.
const Audience = "sts.test.example.com"

// longest is the longest life of a token that the service accepts.
const longest = 2 * time.Hour

// Server takes tokens as the bodies of requests.
type Server struct {
	*httptest.Server
	Issuer string

	keys    jose.JSONWebKeySet
	subject string

	mu      sync.Mutex
	granted int
	refused []string
}

// New starts a service at a host's address that trusts an issuer's tokens for one subject. discovery
// and keys are what the issuer publishes, see https://openid.net/specs/openid-connect-discovery-1_0.html
func New(t *testing.T, host string, discovery, keys []byte, subject string) *Server {
	t.Helper()
	s := &Server{subject: subject}
	var published struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(discovery, &published); err != nil {
		t.Fatalf("read the issuer's configuration: %v", err)
	}
	if err := json.Unmarshal(keys, &s.keys); err != nil {
		t.Fatalf("read the issuer's keys: %v", err)
	}
	s.Issuer = published.Issuer
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewUnstartedServer(s)
	s.Listener.Close() //nolint:errcheck // replaced
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		err = s.verify(strings.TrimSpace(string(body)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused = append(s.refused, err.Error())
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	s.granted++
}

func (s *Server) verify(token string) error {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return err
	}
	var claims jwt.Claims
	if err := parsed.Claims(s.keys, &claims); err != nil {
		return fmt.Errorf("the signature: %w", err)
	}
	if life := claims.Expiry.Time().Sub(claims.IssuedAt.Time()); life > longest {
		return fmt.Errorf("the token lasts for %s", life)
	}
	return claims.Validate(jwt.Expected{Issuer: s.Issuer, Subject: s.subject, AnyAudience: jwt.Audience{Audience}, Time: time.Now()})
}

// Logins counts accepted tokens, and lists why others were refused.
func (s *Server) Logins() (granted int, refused []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted, s.refused
}
