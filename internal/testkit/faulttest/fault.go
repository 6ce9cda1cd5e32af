// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package faulttest breaks HTTP servers of tests the way networks and servers break.
package faulttest

import (
	"net/http"
	"sync"
)

// Fault answers a request instead of the server; false lets the server answer.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Switch contains the fault of a server. The zero value has none.
type Switch struct {
	mu    sync.Mutex
	fault Fault
}

// SetFault breaks the server until the next call; nil repairs it.
func (s *Switch) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Answered reports whether the fault answered a request.
func (s *Switch) Answered(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	return fault != nil && fault(w, r)
}

// Unreachable closes every connection without a response.
func Unreachable(w http.ResponseWriter, _ *http.Request) bool {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			conn.Close() //nolint:errcheck // closing it is the purpose
			return true
		}
	}
	panic(http.ErrAbortHandler)
}

// Answer answers every request with a status.
func Answer(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		return true
	}
}

// Stall delays every request until release is closed or the client disconnects.
func Stall(release <-chan struct{}) Fault {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	}
}
