// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statetest

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// T is the part of testing.TB that this package needs; other programs implement it.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// largest limits a state.
const largest = 16 << 20

// Server keeps states.
type Server struct {
	username, password string
	http               *httptest.Server

	mu     sync.Mutex
	states map[string][]byte
	locks  map[string][]byte
	writes map[string]int
}

// New starts a server that ends with the test.
func New(t T, username, password string) *Server {
	t.Helper()
	s := &Server{username: username, password: password, states: map[string][]byte{}, locks: map[string][]byte{}, writes: map[string]int{}}
	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	return s
}

// URL is the base URL of the states.
func (s *Server) URL() string { return s.http.URL }

// Paths lists the stored states, sorted.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for path := range s.states {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// State is the content of a state; empty if there is none.
func (s *Server) State(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.states[path])
}

// Writes is how often a state was written.
func (s *Server) Writes(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes[path]
}

// Resources counts the resources in a state.
func (s *Server) Resources(path string) int {
	var state struct{ Resources []json.RawMessage }
	if err := json.Unmarshal([]byte(s.State(path)), &state); err != nil {
		return 0
	}
	return len(state.Resources)
}

// ServeHTTP speaks the protocol of the http backend.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	username, password, _ := r.BasicAuth()
	if subtle.ConstantTimeCompare([]byte(username+"\x00"+password), []byte(s.username+"\x00"+s.password)) != 1 {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/")
	switch r.Method {
	case http.MethodGet:
		state, found := s.states[path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Write(state) //nolint:errcheck // the client tells when it could not read
	case http.MethodPost:
		if lock, locked := s.locks[path]; locked && lockID(lock) != r.URL.Query().Get("ID") {
			conflict(w, lock)
			return
		}
		s.states[path] = body
		s.writes[path]++
	case http.MethodDelete:
		delete(s.states, path)
	case "LOCK":
		if lock, locked := s.locks[path]; locked {
			conflict(w, lock)
			return
		}
		s.locks[path] = body
	case "UNLOCK":
		if lock, locked := s.locks[path]; locked && len(body) > 0 && lockID(lock) != lockID(body) {
			conflict(w, lock)
			return
		}
		delete(s.locks, path)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// conflict answers with the lock holder.
func conflict(w http.ResponseWriter, lock []byte) {
	w.WriteHeader(http.StatusLocked)
	w.Write(lock) //nolint:errcheck // the client tells when it could not read
}

func lockID(lock []byte) string {
	var info struct{ ID string }
	if err := json.Unmarshal(lock, &info); err != nil {
		return ""
	}
	return info.ID
}
