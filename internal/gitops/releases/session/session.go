// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// Session is a running program. Its calls are for one goroutine.
type Session struct {
	// Processor limits the CPU time of each call; 0 for the usual.
	Processor time.Duration

	process *process
	target  http.Handler
	calls   chan *wire.Call
	results chan *wire.Result
	ended   chan struct{}

	mu            sync.Mutex
	input, output []byte
}

// Start starts the program for a target; nil for calls about charts. Close ends it.
func Start(ctx context.Context, find Finder, target *rest.Config) (*Session, error) {
	s := &Session{calls: make(chan *wire.Call), results: make(chan *wire.Result), ended: make(chan struct{})}
	if target != nil {
		var err error
		if s.target, err = forward(target); err != nil {
			return nil, err
		}
	}
	p, err := launch(ctx, find)
	if err != nil {
		return nil, err
	}
	s.process = p
	go func() {
		defer close(s.ended)
		(&http2.Server{}).ServeConn(p.conn, &http2.ServeConnOpts{Context: ctx, Handler: s}) //nolint:staticcheck // what replaces it wants a listener, and this is one connection
	}()
	return s, nil
}

// Close ends the program.
func (s *Session) Close() { s.process.end() }

// Do executes a call. An error means that the program has ended, or ctx; a *LimitError that it needs
// too much.
func (s *Session) Do(ctx context.Context, call *wire.Call, input []byte) (*wire.Result, error) {
	call.HasInput, call.Processor = input != nil, s.Processor
	s.mu.Lock()
	s.input, s.output = input, nil
	s.mu.Unlock()
	select {
	case s.calls <- call:
	case <-s.ended:
		return nil, s.process.why(s.Processor)
	case <-ctx.Done():
		s.Close()
		return nil, context.Cause(ctx)
	}
	select {
	case result := <-s.results:
		return result, nil
	case <-s.ended:
		return nil, s.process.why(s.Processor)
	case <-ctx.Done():
		s.Close()
		return nil, context.Cause(ctx)
	}
}

// Output returns the large output of the last call.
func (s *Session) Output() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output
}

// ServeHTTP answers the program.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host == wire.Cluster && s.target != nil:
		s.target.ServeHTTP(w, r)
	case r.Host != wire.Server:
		http.Error(w, "there is no cluster", http.StatusNotFound)
	case r.URL.Path == wire.PathNext:
		s.next(w, r)
	case r.URL.Path == wire.PathInput:
		s.mu.Lock()
		input := s.input
		s.mu.Unlock()
		_, _ = w.Write(input) // the program notices
	case r.URL.Path == wire.PathOutput:
		data, err := read(r.Body, wire.MaxMessage)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		s.mu.Lock()
		s.output = data
		s.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

// next takes the result of the last call, and hands out the next one.
func (s *Session) next(w http.ResponseWriter, r *http.Request) {
	var last *wire.Result
	data, err := read(r.Body, wire.MaxMessage)
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil {
		http.Error(w, "the result cannot be read", http.StatusBadRequest)
		return
	}
	if last != nil {
		select {
		case s.results <- last:
		case <-r.Context().Done():
			return
		}
	}
	select {
	case call := <-s.calls:
		_ = json.NewEncoder(w).Encode(call) // the program notices
	case <-r.Context().Done():
	}
}

func read(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d MiB", limit>>20)
	}
	return data, err
}
