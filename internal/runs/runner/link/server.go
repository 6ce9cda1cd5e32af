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
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Refusal is an answer that trying again will not change.
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

// Server is the way to the server: the address and credential of the connection file, read again whenever the server
// cannot be reached, because a restarted server has new ones.
type Server struct {
	file    string
	version string

	mu       sync.Mutex
	modified time.Time
	conn     run.Connection
	client   *http.Client
	lastOK   time.Time
}

// New is the way to the server that the connection file in a directory names. Version is the runner's.
func New(dir, version string) *Server {
	return &Server{file: filepath.Join(dir, run.ConnectionFile), version: version, lastOK: time.Now()}
}

// load reads the connection file if it has changed.
func (s *Server) load() error {
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
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(conn.CA)) {
		return fmt.Errorf("find the server: %s holds no certificate", s.file)
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	s.modified, s.conn = info.ModTime(), conn
	s.client = &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		// A poll that is given up takes its connection with it. The next one resumes the session, which is cheaper.
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, ClientSessionCache: tls.NewLRUClientSessionCache(4)},
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: run.PollWait + 20*time.Second,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
	}}
	return nil
}

// Home is what the server calls the place where this runner works; empty when the server cannot be found.
func (s *Server) Home() string {
	if s.load() != nil { // asking for work fails, too, and says why
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Home
}

// Silence is for how long the server has not answered.
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
	// Stream, when set, receives the answer's body; otherwise into receives it as JSON unless nil.
	Stream io.Writer
	Limit  int64
	Into   any
	// Stuck, when set, hears after each attempt whether only a person can help.
	Stuck func(bool)
}

// ErrStuck is in an error that is tried again although it lasts until a person does something.
var ErrStuck = errors.New("this lasts until somebody helps")

// Do carries out one attempt and returns the status. An answer the protocol calls final comes back as *refusal; any
// other error is to be tried again.
func (s *Server) Do(ctx context.Context, r Request) (int, error) {
	if err := s.load(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	client, conn := s.client, s.conn
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, r.Method, conn.URL+run.PathPrefix+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return 0, fmt.Errorf("speak to the server: %w", err)
	}
	token := r.Token
	if token == "" {
		token = conn.Credential
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(run.HeaderProtocol, fmt.Sprint(run.ProtocolVersion))
	req.Header.Set("User-Agent", "yuba-runner/"+s.version)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	response, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("speak to the server: %w", err)
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
		_ = json.Unmarshal(text, &problem) // a body that is no Problem leaves it empty
		switch response.StatusCode {
		case http.StatusConflict, http.StatusGone, http.StatusUnauthorized, http.StatusRequestEntityTooLarge:
			return &Refusal{response.StatusCode, problem}
		case http.StatusNotFound:
			if problem.Message != "" { // else it is not the protocol that answers: a server that is still starting
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
				Message: fmt.Sprintf("what it sent is over the limit of %d bytes", r.Limit), Class: run.FailureLimit}}
		}
	case r.Into != nil:
		if err := json.NewDecoder(response.Body).Decode(r.Into); err != nil {
			return fmt.Errorf("%s %s: read the answer: %w", r.Method, r.Path, err)
		}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // lets the connection be used again
	return nil
}
