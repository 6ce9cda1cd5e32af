// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
)

// Fault answers a request in git's place; it returns false to let git answer. It stays until SetFault is called again.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// SetFault breaks the server over HTTP; nil repairs it.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Unreachable is a server that ends every connection without an answer.
func Unreachable(w http.ResponseWriter, _ *http.Request) bool {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			conn.Close() //nolint:errcheck // ending it is the point
			return true
		}
	}
	panic(http.ErrAbortHandler)
}

// Answer is a server that answers every request with this status.
func Answer(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		return true
	}
}

// Stall is a server that accepts and says nothing until release is closed or its client has gone.
func Stall(release <-chan struct{}) Fault {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	}
}

func (s *Server) startHTTP() error {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Dir:  s.dir,
		Env: append(s.environment(), "GIT_PROJECT_ROOT="+filepath.Join(s.dir, "served"), "GIT_HTTP_EXPORT_ALL=1",
			// Its own git runs as somebody else in some sandboxes.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"),
		// What a client that goes away leaves is no news.
		Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Stderr: io.Discard,
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, backend) }))
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	if s.tls {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, backend http.Handler) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if !s.admitted(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch repository, service := filepath.Split(r.URL.Path); {
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		s.count(strings.TrimSuffix(r.URL.Path, "/info/refs"), func(c *Counts) { c.Lookups++ })
	case service == "git-upload-pack":
		heard, err := s.listen(repository, w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w = heard
		defer heard.by.over()
	default:
		// Dumb clients, and those who want to push, find nothing.
		http.NotFound(w, r)
		return
	}
	// The protocol's version comes in a header that CGI passes on as HTTP_GIT_PROTOCOL; git reads GIT_PROTOCOL.
	if version := r.Header.Get("Git-Protocol"); version != "" {
		with := *backend.(*cgi.Handler)
		with.Env = append(append([]string{}, with.Env...), "GIT_PROTOCOL="+version)
		backend = &with
	}
	backend.ServeHTTP(w, r)
}

func (s *Server) admitted(r *http.Request) bool {
	if s.token != "" {
		return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) == 1
	}
	username, password, _ := r.BasicAuth()
	return s.username == "" && s.password == "" || username == s.username && password == s.password
}

// listen reads what a client wants and has, and returns the writer that hears git's answer.
func (s *Server) listen(repository string, w http.ResponseWriter, r *http.Request) (*heard, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	// CGI wants to know the length of what it reads.
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(plain); err != nil {
			return nil, err
		}
	}
	c := &conversation{server: s, repository: repository}
	c.said(body)
	return &heard{ResponseWriter: w, by: c}, nil
}

// heard is an answer that a conversation listens to.
type heard struct {
	http.ResponseWriter
	by *conversation
}

func (h *heard) Write(p []byte) (int, error) {
	h.by.answered(p)
	return h.ResponseWriter.Write(p)
}
