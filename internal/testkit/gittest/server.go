// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"encoding/pem"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// T is what the package needs of a test; benchmarks, which are none, bring their own.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Option changes how a server is started.
type Option func(*Server)

// BasicAuth lets only those in who say this name and password.
func BasicAuth(username, password string) Option {
	return func(s *Server) { s.username, s.password = username, password }
}

// BearerToken lets only those in who say this token.
func BearerToken(token string) Option {
	return func(s *Server) { s.token = token }
}

// TLS serves HTTPS with a certificate that only CA vouches for.
func TLS() Option {
	return func(s *Server) { s.tls = true }
}

// SSH serves ssh, too, with a fresh host key; SSHURL, HostKey and Authorize belong to it.
func SSH() Option {
	return func(s *Server) { s.ssh = &sshServer{} }
}

// Counts is what clients asked a server for.
type Counts struct {
	// Lookups: how often somebody asked for the references, as git ls-remote does and as every fetch begins.
	Lookups int
	// Fetches: how often objects were asked for, clones included.
	Fetches int
	// Clones: the fetches by somebody who had nothing yet.
	Clones int
}

// Server is a git server.
type Server struct {
	dir, username, password, token string
	tls                            bool
	http                           *httptest.Server
	talk                           func(io.ReadWriter)
	ssh                            *sshServer

	mu      sync.Mutex
	fault   Fault
	counts  map[string]Counts
	fetched map[string]time.Time
}

// New starts a server that ends with the test.
func New(t T, options ...Option) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "gittest-")
	if err != nil {
		t.Fatalf("make a directory for the git server: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // a temporary directory
	s := &Server{dir: dir, counts: map[string]Counts{}, fetched: map[string]time.Time{}}
	for _, option := range options {
		option(s)
	}
	if err := s.startHTTP(); err != nil {
		t.Fatalf("start the git server: %v", err)
	}
	t.Cleanup(s.http.Close)
	if s.ssh != nil {
		if err := s.ssh.start(s); err != nil {
			t.Fatalf("start the git server's ssh: %v", err)
		}
		t.Cleanup(s.ssh.stop)
	}
	return s
}

// URL is where a repository is served over HTTP, without credentials.
func (s *Server) URL(repository string) string { return s.http.URL + "/" + repository + ".git" }

// CA is the certificate, in PEM, that vouches for a server with TLS.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// Counts tells what was asked of a repository since the last Reset, over any protocol.
func (s *Server) Counts(repository string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[repository]
}

// Fetched is when the last fetch of a repository over HTTP had been answered in full.
func (s *Server) Fetched(repository string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched[repository]
}

// Reset sets all counts to zero.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = map[string]Counts{}
}

// repositoryName is what a repository is called here, of the path that a client calls it.
func repositoryName(path string) string { return strings.TrimSuffix(strings.Trim(path, "/"), ".git") }

func (s *Server) count(repository string, change func(*Counts)) {
	repository = repositoryName(repository)
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.counts[repository]
	change(&counts)
	s.counts[repository] = counts
}

func (s *Server) bare(repository string) string {
	return filepath.Join(s.dir, "served", repository+".git")
}

// environment is what git runs with: nothing of the person or machine that runs the tests.
func (s *Server) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
}
