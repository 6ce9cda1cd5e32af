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

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
)

// T is the part of testing.T that the package needs; benchmarks outside of tests have their own.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Option configures a server.
type Option func(*Server)

// BasicAuth requires a name and a password.
func BasicAuth(username, password string) Option {
	return func(s *Server) { s.username, s.password = username, password }
}

// BearerToken requires a token.
func BearerToken(token string) Option {
	return func(s *Server) { s.token = token }
}

// TLS serves HTTPS with a certificate of the authority CA.
func TLS() Option {
	return func(s *Server) { s.tls = true }
}

// Listen serves HTTP at an address of this machine instead of loopback, for clients in Pods.
func Listen(host string) Option {
	return func(s *Server) { s.host = host }
}

// SSH also serves ssh, with a new host key; see SSHURL, KnownHosts and Authorize.
func SSH() Option {
	return func(s *Server) { s.ssh = &sshServer{} }
}

// Writable accepts pushes. Hooks of a repository may refuse them, see Repository.Path.
func Writable() Option {
	return func(s *Server) { s.writable = true }
}

// Counts are numbers of requests.
type Counts struct {
	// Lookups counts requests for references, as by git ls-remote and before every fetch.
	Lookups int
	// Fetches counts requests for objects, including clones.
	Fetches int
	// Clones counts fetches of clients without objects.
	Clones int
}

// Server is a git server. Its faults affect HTTP.
type Server struct {
	faulttest.Switch
	dir, username, password, token, host string
	tls, writable                        bool
	http                                 *httptest.Server
	talk                                 func(io.ReadWriter)
	ssh                                  *sshServer

	mu      sync.Mutex
	counts  map[string]Counts
	fetched map[string]time.Time
}

// New starts a server that ends with the test.
func New(t T, options ...Option) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "gittest-")
	if err != nil {
		t.Fatalf("create a directory for the git server: %v", err)
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

// URL returns the HTTP URL of a repository, without credentials.
func (s *Server) URL(repository string) string { return s.http.URL + "/" + repository + ".git" }

// CA returns the certificate authority of a server with TLS, in PEM.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// Counts returns the requests for a repository since the last Reset, over all protocols.
func (s *Server) Counts(repository string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[repository]
}

// Fetched returns when the last response to a fetch over HTTP was complete.
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

// repositoryName returns the name of a repository for a client's path.
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

// environment returns git's environment, without settings of the user and the machine.
func (s *Server) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
}
