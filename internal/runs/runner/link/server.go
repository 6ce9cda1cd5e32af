// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Refusal is an answer that retries will not change.
type Refusal struct {
	status  int
	Problem run.Problem
}

func (r *Refusal) Error() string {
	if r.Problem.Message != "" {
		return fmt.Sprintf("the server refused (%d): %s", r.status, r.Problem.Message)
	}
	return fmt.Sprintf("the server refused (%d)", r.status)
}

// Refused returns the status of a refusal in err, or 0.
func Refused(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

// Server connects to the server of the connection file, which is read again when it is unreachable:
// a restarted server has a new address.
type Server struct {
	file    string
	version string
	// tokenFile has the credential, which changes; empty if the connection has it.
	tokenFile string

	mu       sync.Mutex
	modified time.Time
	conn     run.Connection
	client   *http.Client
	// opener is for answers that take long to begin.
	opener *http.Client
	lastOK time.Time
}

// New makes the connection from the file in a directory. Version is the runner's.
func New(dir, version string) *Server {
	return &Server{file: filepath.Join(dir, run.ConnectionFile), version: version, lastOK: time.Now()}
}

// Fixed connects to one server with a credential in a file.
func Fixed(conn run.Connection, tokenFile, version string) *Server {
	return &Server{conn: conn, tokenFile: tokenFile, version: version, lastOK: time.Now()}
}

// load reads the connection file if it has changed.
func (s *Server) load() error {
	if s.file == "" {
		return s.loadFixed()
	}
	info, err := os.Stat(s.file)
	if err != nil {
		return fmt.Errorf("find the server: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil && info.ModTime().Equal(s.modified) {
		return nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("find the server: %w", err)
	}
	var conn run.Connection
	if err := json.Unmarshal(text, &conn); err != nil {
		return fmt.Errorf("find the server: read %s: %w", s.file, err)
	}
	client, err := newClient(conn)
	if err != nil {
		return fmt.Errorf("find the server: %s: %w", s.file, err)
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
		s.opener.CloseIdleConnections()
	}
	s.modified, s.conn, s.client, s.opener = info.ModTime(), conn, client, newOpener(client)
	return nil
}

// loadFixed reads the credential, which the kubelet renews.
func (s *Server) loadFixed() error {
	token, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return fmt.Errorf("read the runner's credential: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.Credential = strings.TrimSpace(string(token))
	if s.client == nil {
		if s.client, err = newClient(s.conn); err != nil {
			return fmt.Errorf("find the server: %w", err)
		}
		s.opener = newOpener(s.client)
	}
	return nil
}

// newClient returns a client that trusts the connection's certificates only.
func newClient(conn run.Connection) (*http.Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(conn.CA)) {
		return nil, errors.New("there is no certificate to verify it by")
	}
	return &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		// A cancelled poll closes its connection. Resuming the session is cheaper.
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, ClientSessionCache: tls.NewLRUClientSessionCache(4)},
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: run.PollWait + 20*time.Second,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
	}}, nil
}

// Home is the server's name for the runner's home; empty if the server is not found.
func (s *Server) Home() string {
	if s.load() != nil { // polling fails, too, and says why
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Home
}

// Silence is how long the server has not answered.
func (s *Server) Silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastOK)
}

// Request is one exchange with the server.
type Request struct {
	Method, Path string
	Token        string // empty: the runner's credential
	Header       map[string]string
	Body         []byte
	// Stream receives the answer's body; if nil, into receives it as JSON.
	Stream io.Writer
	Limit  int64
	Into   any
	// Stuck is called after each attempt with true if only a person can help.
	Stuck func(bool)
}

// ErrStuck means that retries fail until a person acts.
var ErrStuck = errors.New("retries fail until a person intervenes")

// Do makes one attempt and returns the status. Final answers are a *Refusal; retry other errors.
func (s *Server) Do(ctx context.Context, r Request) (int, error) {
	if err := s.load(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	client, conn := s.client, s.conn
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, r.Method, conn.URL+run.PathPrefix+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return 0, fmt.Errorf("send a request to the server: %w", err)
	}
	r.sign(req, conn, s.version)
	response, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send a request to the server: %w", err)
	}
	defer response.Body.Close()
	s.mu.Lock()
	s.lastOK = time.Now()
	s.mu.Unlock()
	return response.StatusCode, r.read(response)
}

func (r Request) read(response *http.Response) error {
	if response.StatusCode/100 != 2 {
		var problem run.Problem
		text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		_ = json.Unmarshal(text, &problem) // not a Problem: it stays empty
		switch response.StatusCode {
		case http.StatusConflict, http.StatusGone, http.StatusUnauthorized, http.StatusRequestEntityTooLarge:
			return &Refusal{response.StatusCode, problem}
		case http.StatusNotFound:
			if problem.Message != "" { // otherwise it is not the protocol, but a server that is starting
				return &Refusal{response.StatusCode, problem}
			}
		}
		err := fmt.Errorf("%s %s: the server answered %s: %s", r.Method, r.Path, response.Status, problem.Message)
		if problem.Class == run.FailureState {
			err = fmt.Errorf("%w; %w", err, ErrStuck)
		}
		return err
	}
	switch {
	case response.StatusCode == http.StatusNoContent:
	case r.Stream != nil:
		n, err := io.Copy(r.Stream, io.LimitReader(response.Body, r.Limit+1))
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
		if n > r.Limit {
			return &Refusal{http.StatusRequestEntityTooLarge, run.Problem{
				Message: fmt.Sprintf("the response exceeds the limit of %d bytes", r.Limit), Class: run.FailureLimit}}
		}
	case r.Into != nil:
		if err := json.NewDecoder(response.Body).Decode(r.Into); err != nil {
			return fmt.Errorf("%s %s: read the answer: %w", r.Method, r.Path, err)
		}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // lets the connection be reused
	return nil
}
