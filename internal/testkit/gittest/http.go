// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func (s *Server) startHTTP() error {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Dir:  s.dir,
		Env: append(s.environment(), "GIT_PROJECT_ROOT="+filepath.Join(s.dir, "served"), "GIT_HTTP_EXPORT_ALL=1",
			// In some sandboxes, git runs as another user.
			"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			"GIT_CONFIG_KEY_1=http.receivepack", "GIT_CONFIG_VALUE_1="+strconv.FormatBool(s.writable),
			"GIT_CONFIG_KEY_2=receive.advertisePushOptions", "GIT_CONFIG_VALUE_2=true"),
		// Disconnected clients are expected.
		Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Stderr: io.Discard,
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, backend) }))
	if s.host != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(s.host, "0"))
		if err != nil {
			return err
		}
		s.http.Listener.Close() //nolint:errcheck // replaced
		s.http.Listener = l
	}
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	if s.tls {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, backend http.Handler) {
	if s.Answered(w, r) {
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
	case service == "git-receive-pack" && s.writable:
		// CGI requires the length of its input.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	default:
		// The dumb protocol is not supported.
		http.NotFound(w, r)
		return
	}
	// CGI passes the header with the protocol's version as HTTP_GIT_PROTOCOL; git reads GIT_PROTOCOL.
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

// listen reads a client's request, and returns a writer that observes git's response.
func (s *Server) listen(repository string, w http.ResponseWriter, r *http.Request) (*heard, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	// CGI requires the length of its input.
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

// heard is a response that a conversation observes.
type heard struct {
	http.ResponseWriter
	by *conversation
}

func (h *heard) Write(p []byte) (int, error) {
	h.by.answered(p)
	return h.ResponseWriter.Write(p)
}
